internal import Executables
import FoundationEssentials
import Glibc

/// What a process has used so far.
enum ProcessUsage {
    /// CPU time of this process, user and system.
    static var ownCPU: Duration {
        var usage = rusage()
        getrusage(Int32(RUSAGE_SELF.rawValue), &usage)
        return duration(usage.ru_utime) + duration(usage.ru_stime)
    }

    static var ownPeakBytes: Int {
        var usage = rusage()
        getrusage(Int32(RUSAGE_SELF.rawValue), &usage)
        return usage.ru_maxrss * 1024
    }

    /// Resident now. Read often while others are measured, hence without Foundation. Source: proc(5), `statm`.
    static var ownBytes: Int {
        let file = open("/proc/self/statm", O_RDONLY)
        guard file >= 0 else { return 0 }
        defer { close(file) }
        return withUnsafeTemporaryAllocation(byteCount: 128, alignment: 1) { buffer in
            let count = Glibc.read(file, buffer.baseAddress, buffer.count)
            let fields = buffer.prefix(max(0, count)).split(separator: UInt8(ascii: " "))
            guard fields.count > 1 else { return 0 }
            return fields[1].reduce(0) { $0 * 10 + Int($1 & 0xF) } * Int(sysconf(Int32(_SC_PAGESIZE)))
        }
    }

    /// Descriptors that this process has open.
    static var ownDescriptors: Int {
        // Less the one of the folder that is being read.
        (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count - 1) ?? 0
    }

    /// CPU time of another process, all of its threads; `nil` when it is gone. Source: proc(5), fields 14 and 15 of `stat`.
    static func cpu(of process: pid_t) -> Duration? {
        guard let text = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8),
            let end = text.lastIndex(of: ")")
        else { return nil }
        // The name may hold blanks: fields are counted from behind it, where the third begins.
        let fields = text[text.index(after: end)...].split(separator: " ")
        guard fields.count > 12, let user = Int(fields[11]), let system = Int(fields[12]) else { return nil }
        return .seconds(1) * (user + system) / sysconf(Int32(_SC_CLK_TCK))
    }

    /// The most resident bytes that another process has had. Source: proc(5), `VmHWM` of `status`.
    static func peakBytes(of process: pid_t) -> Int? {
        guard let text = try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8),
            let line = text.split(separator: "\n").first(where: { $0.hasPrefix("VmHWM:") })
        else { return nil }
        return line.split(separator: " ").dropFirst().first.flatMap { Int($0) }.map { $0 * 1024 }
    }

    private static func duration(_ time: timeval) -> Duration {
        .seconds(time.tv_sec) + .microseconds(time.tv_usec)
    }
}

extension Duration {
    var seconds: Double {
        let (seconds, attoseconds) = components
        return Double(seconds) + Double(attoseconds) / 1e18
    }
}
