import Executables
import Testing

@testable import loadtest

@Suite("The load tester's command line")
struct OptionTests {
    private func invocation(_ line: String) throws -> Invocation {
        let words = line.split(separator: " ").map(String.init)
        let parser = CommandParser(program: .loadtest, commands: Command.all)
        guard case .run(let invocation) = try parser.parse(words, environment: [:]) else {
            throw Failure(.wrongUse, "that asked for help")
        }
        return invocation
    }

    private func pool(_ line: String) throws -> PoolOptions { try PoolOptions(invocation("pool " + line)) }

    @Test("has defaults for everything")
    func hasDefaults() throws {
        let options = try pool("")
        #expect(options.pushes == 1_000_000)
        #expect(options.rate == nil)
        #expect(options.mix == Mix(channels: 0, tokens: 1))
        #expect(options.sink.target == nil)
    }

    @Test("keeps a mix's share over batches of any size", arguments: [1, 7, 500, 1001])
    func keepsShare(batch: Int) throws {
        let mix = try pool("--mix 1:1000").mix
        let batches = stride(from: 0, to: 3_003_000, by: batch).map { $0..<min($0 + batch, 3_003_000) }
        #expect(batches.reduce(0) { $0 + mix.channelPushes(of: $1) } == 3000)
        #expect(batches.allSatisfy { mix.channelPushes(of: $0) <= batch / 1001 + 1 })
    }

    @Test(
        "answers a wrong option with the right one",
        arguments: [
            ("--conections 4", "--connections"), ("-c 4", "--connections"), ("--clients 4", "--connections"),
            ("-n 5", "--pushes"), ("--requests=5", "--pushes"), ("-m 9", "--streams"), ("--rps 5", "--rate"),
            ("--duration 5", "--seconds"), ("--html x", "--report"), ("--jsn x", "--json"),
        ]
    )
    func namesTheRightOne(line: String, meant: String) throws {
        let failure = try #require(throws: Failure.self) { try pool(line) }
        #expect(failure.kind == .wrongUse)
        #expect(failure.hint == "Did you mean “\(meant)”?")
    }

    @Test(
        "refuses what makes no sense, as wrong use",
        arguments: [
            "--pushes 0", "--pushes many", "--pushes 5 --seconds 5", "--mix 1", "--mix 0:0", "--mix a:b",
            "--baseline wrk", "--target localhost", "--target localhost:0", "--target x:1 --faithful",
            "--target x:1 --rtt 5", "--baseline h2load --tenants 2", "--baseline h2load --target x:1",
            "--json - --report -", "--payload-bytes 79", "--payload-bytes 4097",
        ]
    )
    func refuses(line: String) throws {
        let failure = try #require(throws: Failure.self) { try pool(line) }
        #expect(failure.kind == .wrongUse, "\(failure.message)")
    }

    @Test(
        "does not go to Apple unless it is told so in as many words",
        arguments: ["api.push.apple.com:443", "API.SANDBOX.push.apple.com.:443", "17-188-1-1.push.apple.com:2197"]
    )
    func sparesApple(target: String) throws {
        let failure = try #require(throws: Failure.self) { try pool("--target \(target)") }
        #expect(failure.kind == .wrongUse)
        let flag = try #require(failure.hint?.split(separator: " ").last.map(String.init))
        let (told, other) = (try pool("--target \(target) \(flag)"), try pool("--target apple.com.example.org:443"))
        #expect(told.sink.target?.isApples == true)
        #expect(other.sink.target?.isApples == false)
    }

    @Test("has help within 80 columns, with examples that parse", arguments: Command.all.map(\.name))
    func helps(name: String) throws {
        let parser = CommandParser(program: .loadtest, commands: Command.all)
        guard case .help(let text) = try parser.parse([name, "--help"], environment: [:]) else {
            Issue.record("no help")
            return
        }
        for line in text.split(separator: "\n") { #expect(line.count <= 80, "\(line)") }
        let command = try #require(Command.all.first { $0.name == name })
        for line in [command.example] + command.examples.map(\.line) {
            let words = line.split(separator: " ").map(String.init)
            #expect(text.contains(words[0] + " " + words[1]))
            guard case .run = try parser.parse(Array(words.dropFirst()), environment: [:]) else {
                Issue.record("\(line) is no example")
                continue
            }
        }
    }

    @Test("shows what is wrong with one exit code each")
    func exitCodes() async {
        #expect(await LoadTest.run(["pool", "--help"], environment: [:]) == 0)
        #expect(await LoadTest.run(["pol"], environment: [:]) == 2)
        #expect(await LoadTest.run(["pool", "--mix", "x"], environment: [:]) == 2)
    }
}
