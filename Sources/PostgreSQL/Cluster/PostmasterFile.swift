internal import Glibc

/// `postmaster.pid`, which a running server keeps in its data directory. Source: PostgreSQL, `pidfile.h`.
struct PostmasterFile {
    let processID: pid_t
    let socketDirectory: String?

    /// Nil where there is none, or none that can be read.
    init?(in data: String) {
        guard let text = Files.read("\(data)/postmaster.pid") else { return nil }
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        guard let first = lines.first, let processID = pid_t(first), processID > 1 else { return nil }
        self.processID = processID
        socketDirectory = lines.count > 4 && !lines[4].isEmpty ? String(lines[4]) : nil
    }

    /// Whether a server runs on `data`, and not just some process that was given the number since.
    func isAlive(on data: String) -> Bool {
        guard Self.isRunning(processID) else { return false }
        // A server works inside its data directory.
        return Files.link("/proc/\(processID)/cwd") == data
    }

    /// Zombies, which nobody has waited for yet, do not count.
    static func isRunning(_ processID: pid_t) -> Bool {
        guard kill(processID, 0) == 0 || errno == EPERM else { return false }
        guard let status = Files.read("/proc/\(processID)/stat") else { return true }
        // "pid (name) state …", and a name may hold parentheses.
        return status.split(separator: ")").last?.split(separator: " ").first != "Z"
    }
}
