import EventLoop
import Glibc
import Testing

@Suite("A program that we start", .timeLimit(.minutes(2)))
struct ChildProcessTests {
    private let deadline = ContinuousClock.now + .seconds(60)

    private func shell(_ script: String) -> ChildProcess.Options {
        ChildProcess.Options("/bin/sh", ["-c", script])
    }

    @Test("tells how it ended, and what it wrote")
    func ending() async throws {
        let (ending, output) = try await ChildProcess.run(shell("echo out; echo err >&2; exit 3"), by: deadline)
        #expect(ending == .exited(3))
        #expect(output == "out\nerr\n")
    }

    @Test("is ended by a signal, once")
    func signal() async throws {
        let process = try ChildProcess.start(shell("exec sleep 300"))
        #expect(await process.waitForEnd(by: .now + .milliseconds(20)) == nil)
        process.signal(SIGTERM)
        #expect(await process.waitForEnd(by: deadline) == .signalled(SIGTERM))
        process.signal(SIGKILL)
        #expect(await process.waitForEnd() == .signalled(SIGTERM))
    }

    @Test("is killed at its deadline")
    func late() async throws {
        let (ending, output) = try await ChildProcess.run(shell("echo begun; exec sleep 300"), by: .now + .seconds(1))
        #expect(ending == nil)
        #expect(output == "begun\n")
    }

    @Test("has a deadline in a cancelled task too")
    func cancelled() async throws {
        let process = try ChildProcess.start(shell("exec sleep 300"))
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            return await process.waitForEnd(by: .now + .milliseconds(20))
        }
        task.cancel()
        #expect(await task.value == nil)
        process.signal(SIGKILL)
        #expect(await process.waitForEnd(by: deadline) == .signalled(SIGKILL))
    }

    @Test("gets no descriptor and no ignored signal of ours")
    func inheritance() async throws {
        let descriptor = open("/dev/null", O_RDONLY)
        defer { close(descriptor) }
        var options = shell("ls /proc/self/fd | wc -l; grep -E 'Sig(Blk|Ign)' /proc/self/status; pwd")
        options.hasOwnSession = true
        let (_, output) = try await ChildProcess.run(options, by: deadline)
        let lines = output.split(separator: "\n").map { $0.split(whereSeparator: \.isWhitespace).map(String.init) }
        // The three standard ones, and the folder that `ls` reads.
        #expect(lines[0] == ["4"])
        for line in lines[1...2] {
            let signals = try #require(line.last.flatMap { UInt64($0, radix: 16) })
            // 32 and 33 are the C library's own, out of a program's reach.
            #expect(signals & 0x7FFF_FFFF == 0)
        }
        #expect(lines[3] == ["/"])
    }

    @Test("has a session of its own, the environment and the input that it is given")
    func options() async throws {
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        _ = write(ends[1], "typed\n", 6)
        close(ends[1])
        var options = shell("read line; echo $line $WHO; cut -d' ' -f6 /proc/$$/stat; echo $$")
        options.hasOwnSession = true
        options.environment = ["WHO": "ada", "PATH": "/usr/bin:/bin"]
        options.input = ends[0]
        let (_, output) = try await ChildProcess.run(options, by: deadline)
        close(ends[0])
        let lines = output.split(separator: "\n")
        #expect(lines.first == "typed ada")
        #expect(lines.count == 3 && lines[1] == lines[2])
    }

    @Test("that does not exist is an error that names it")
    func missing() async throws {
        let error = #expect(throws: ChildProcessError.self) {
            try ChildProcess.start(ChildProcess.Options("/nonexistent/program"))
        }
        #expect(error?.description.contains("/nonexistent/program") == true)
        #expect(ChildProcess.find("no-such-program-anywhere") == nil)
        #expect(ChildProcess.find("sh") != nil)
    }
}
