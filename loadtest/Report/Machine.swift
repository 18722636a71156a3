internal import Executables
import FoundationEssentials
import Glibc

/// What the figures were measured on.
struct Machine: Codable, Sendable {
    var cpu = ""
    var cores = 0
    var memory_bytes = 0
    var kernel = ""
    /// UTC, RFC 3339.
    var date = ""
    /// Whether this executable is an optimised build: figures of another one mean nothing.
    var is_release = true

    init() {}

    static func here() -> Machine {
        var machine = Machine()
        let lines = text("/proc/cpuinfo").split(separator: "\n")
        machine.cpu = lines.first { $0.hasPrefix("model name") }.flatMap(Self.value) ?? "unknown"
        machine.cores = Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))
        machine.memory_bytes = Int(sysconf(Int32(_SC_PHYS_PAGES))) * Int(sysconf(Int32(_SC_PAGESIZE)))
        machine.kernel = text("/proc/sys/kernel/osrelease").trimmed
        machine.date = Date().formatted(.iso8601)
        #if DEBUG
            machine.is_release = false
        #endif
        return machine
    }

    private static func value(_ line: Substring) -> String? {
        line.split(separator: ":", maxSplits: 1).last.map { String($0).trimmed }
    }

    private static func text(_ file: String) -> String {
        (try? File.read(file)).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }
}
