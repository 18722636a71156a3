internal import Executables
import FoundationEssentials
import Glibc

/// What PostgreSQL takes for the time: this machine's, and so many seconds more or less, by libfaketime.
final class FakeClock: Sendable {
    /// For the server whose clock it is.
    let environment: [String: String]
    private let file: String

    /// Nil where libfaketime is not installed. The server must be able to read in the folder.
    init?(in folder: String) {
        let parents = (try? FileManager.default.contentsOfDirectory(atPath: "/usr/lib")) ?? []
        let libraries = parents.map { "/usr/lib/\($0)/faketime/libfaketime.so.1" }
        guard let library = libraries.first(where: { access($0, R_OK) == 0 }) else { return nil }
        file = "\(folder)/clock"
        environment = [
            "LD_PRELOAD": library, "FAKETIME_TIMESTAMP_FILE": file, "FAKETIME_NO_CACHE": "1",
            // What measures how long something takes goes on evenly, as it does when a clock is set.
            "FAKETIME_DONT_FAKE_MONOTONIC": "1", "DONT_FAKE_MONOTONIC": "1",
        ]
        set(0)
    }

    /// Sets it so many seconds ahead.
    func set(_ seconds: Int) {
        let draft = "\(file).new"
        let line = Array("\(seconds < 0 ? "" : "+")\(seconds)\n".utf8)
        guard (try? Data(line).write(to: URL(filePath: draft))) != nil else { return }
        chmod(draft, 0o644)
        rename(draft, file)
    }

    /// Deletes what libfaketime has left of servers that were killed: its names end in their process ids.
    static func removeLeftovers() {
        for name in (try? FileManager.default.contentsOfDirectory(atPath: "/dev/shm")) ?? []
        where name.contains("faketime_") {
            guard let process = name.split(separator: "_").last.flatMap({ Int32($0) }) else { continue }
            if kill(process, 0) != 0, errno == ESRCH { unlink("/dev/shm/\(name)") }
        }
    }
}
