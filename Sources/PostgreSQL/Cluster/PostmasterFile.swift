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

    /// What is known of the process that the file names.
    enum Holder {
        /// A server that works on this very folder.
        case server
        /// Some process that was given the number since.
        case stranger
        /// There is none.
        case nobody
        /// `/proc` does not say: it may be a server.
        case unknown
    }

    /// Who has the number now. A server works inside its data directory, which is compared by device and inode: the
    /// path may differ, seen from another root.
    func holder(of data: String) -> Holder {
        guard Self.isRunning(processID) else { return .nobody }
        var own = stat()
        guard stat("/proc/self/cwd", &own) == 0, stat(data, &own) == 0 else { return .unknown }
        var theirs = stat()
        guard stat("/proc/\(processID)/cwd", &theirs) == 0 else {
            // Another user's; ours would let us look.
            return errno == EACCES ? .stranger : .unknown
        }
        return own.st_dev == theirs.st_dev && own.st_ino == theirs.st_ino ? .server : .stranger
    }

    /// Zombies, which nobody has waited for yet, do not count.
    static func isRunning(_ processID: pid_t) -> Bool {
        guard kill(processID, 0) == 0 || errno == EPERM else { return false }
        guard let status = Files.read("/proc/\(processID)/stat") else { return true }
        // "pid (name) state …", and a name may hold parentheses.
        return status.split(separator: ")").last?.split(separator: " ").first != "Z"
    }
}
