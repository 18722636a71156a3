import EventLoop
import Executables
import Foundation
import Glibc
import Testing

@testable import touchline

/// Runs the built executable, as a person would: the whole path, from the feed's event to what phones show.
@Suite("The demo", .serialized, .timeLimit(.minutes(10)))
struct DemoTests {
    @Test("ends with the final state on every phone, and leaves nothing behind")
    func endsWell() async throws {
        let demo = try RunningDemo(["--once", "--speed", "max", "--phones", "60"])
        let ending = await demo.process.waitForEnd()
        let output = demo.process.output
        #expect(ending == .exited(0), "\(output)")
        #expect(output.split(separator: "\n").last == "final state on 60 of 60 phones", "\(output)")
        #expect(output.contains("Argentina 3–3 (4–2 pens) France"))
        try await demo.expectNothingLeft()
    }

    @Test("ends what it started when it is interrupted", arguments: [SIGINT, SIGTERM])
    func endsOnSignal(signal: Int32) async throws {
        let demo = try RunningDemo(["--speed", "100", "--phones", "20"])
        try await demo.waitUntil { $0.contains("kick-off") }
        demo.process.signal(signal)
        #expect(await demo.process.waitForEnd() == .exited(128 + signal), "\(demo.process.output)")
        try await demo.expectNothingLeft()
    }

    @Test("is cleaned up after when it is killed")
    func isCleanedUp() async throws {
        let demo = try RunningDemo(["--speed", "100", "--phones", "20"])
        try await demo.waitUntil { $0.contains("kick-off") }
        demo.process.signal(SIGKILL)
        await demo.process.waitForEnd()
        try await demo.expectNothingLeft()
    }
}

/// `touchline demo` with a temporary folder of its own.
private struct RunningDemo {
    let process: ChildProcess
    let folder: String

    init(_ arguments: [String]) throws {
        // Short, and open to PostgreSQL's user.
        let parent = ProcessInfo.processInfo.environment["TMPDIR"] ?? "/tmp"
        folder = try #require(TemporaryFolder.make(prefix: "\(parent)/d."))
        chmod(folder, 0o711)
        let executable = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let binaries = URL(filePath: executable).deletingLastPathComponent()
        var options = ChildProcess.Options(binaries.appending(path: "touchline").path, ["demo"] + arguments)
        options.output = .kept
        options.environment = ProcessInfo.processInfo.environment.merging(["TMPDIR": folder]) { $1 }
        process = try ChildProcess.start(options)
    }

    func waitUntil(_ isThere: (String) -> Bool) async throws {
        while !isThere(process.output) {
            try #require(process.ending == nil, "\(process.output)")
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    /// Neither a file nor a process; the guardian of a killed demo needs a moment.
    func expectNothingLeft() async throws {
        let end = ContinuousClock.now + .seconds(40)
        while !left.isEmpty, ContinuousClock.now < end { try await Task.sleep(for: .milliseconds(50)) }
        #expect(left == [])
        rmdir(folder)
    }

    private var left: [String] {
        let files = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        let numbers = ((try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []).filter { Int($0) != nil }
        let processes = numbers.compactMap { number -> String? in
            guard let bytes = try? Data(contentsOf: URL(filePath: "/proc/\(number)/cmdline")) else { return nil }
            let line = String(decoding: bytes.map { $0 == 0 ? UInt8(ascii: " ") : $0 }, as: UTF8.self)
            return line.contains(folder) ? line : nil
        }
        return files + processes
    }
}
