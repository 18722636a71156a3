import Core
import Executables
import Foundation
import Testing

@testable import loadtest

@Suite("A scenario")
struct ScenarioTests {
    @Test("that is built in is valid", arguments: Scenario.builtIn.keys.sorted())
    func builtInIsValid(name: String) throws {
        let scenario = try Scenario.find(name)
        #expect(!scenario.about.isEmpty)
        #expect(!scenario.settings.isEmpty)
    }

    @Test(
        "says what is wrong with it, and where",
        arguments: [
            ("", "is not JSON"),
            ("[]", "must be an object"),
            (#"{"test":"pool"}"#, "about: a sentence is missing"),
            (#"{"about":"x"}"#, "test: missing"),
            (#"{"about":"x","test":"pol"}"#, "“pol” is no test; there are pool, path, ingest"),
            (#"{"about":"x","test":"pool","option":{}}"#, "option: unknown; known are name, about, test"),
            (#"{"about":"x","test":"pool","options":{"conections":1}}"#, "did you mean “connections”?"),
            (#"{"about":"x","test":"pool","options":{"json":"f"}}"#, "options.json: “pool” has no such option"),
            (#"{"about":"x","test":"pool","options":{"pushes":[1]}}"#, "options.pushes: must be a number"),
            (#"{"about":"x","test":"pool","faults":{"rule":[]}}"#, "faults.rule: unknown"),
            (
                #"{"about":"x","test":"pool","faults":{"rules":[{"do":{}}]}}"#,
                "faults.rules[0].do: needs exactly one of"
            ),
            (
                #"{"about":"x","test":"pool","faults":{"rules":[{"do":{"close":true},"on":{"share":2}}]}}"#,
                "faults.rules[0].on.share: must be a number from 0 to 1"
            ),
        ]
    )
    func saysWhatIsWrong(json: String, complaint: String) throws {
        let failure = try #require(throws: Failure.self) { try Scenario(Array(json.utf8), source: "s.json") }
        #expect(failure.kind == .wrongUse)
        #expect(failure.message.contains(complaint), "\(failure.message)")
        #expect(failure.message.hasPrefix("s.json"))
    }

    private func pool(_ line: String) throws -> PoolOptions {
        let parser = CommandParser(program: .loadtest, commands: Command.all)
        let words = ["pool"] + line.split(separator: " ").map(String.init)
        guard case .run(let invocation) = try parser.parse(words, environment: [:]) else {
            throw Failure(.wrongUse, "that asked for help")
        }
        return try PoolOptions(invocation)
    }

    @Test("gives settings, over which what is typed wins")
    func typedWins() throws {
        let options = try pool("--scenario mixed-faults --connections 3")
        #expect(options.pushes == 10_000_000)
        #expect(options.connections == 3)
        #expect(options.sink.faults?.count == 11)
        let timed = try pool("--scenario mixed-faults --seconds 5")
        #expect(timed.pushes == nil)
        #expect(timed.seconds == 5)
    }

    @Test("that is another test's, or nobody's, is answered with the right one")
    func namesTheRightOne() throws {
        #expect(
            try #require(throws: Failure.self) { try pool("--scenario trottling") }.hint == "Did you mean “throttling”?"
        )
    }

    @Test("gives its faults alone as well, and so do bare rules in a file")
    func givesFaults() throws {
        #expect(try pool("--faults throttling").sink.faults?.count == 3)
        let file = FileManager.default.temporaryDirectory.appending(path: "rules-\(UUID().uuidString).json")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data(#"{"rules":[{"do":{"delay_ms":5}}]}"#.utf8).write(to: file)
        let options = try pool("--faults \(file.path)")
        #expect(options.sink.faults?.count == 1)
        #expect(options.pushes == 1_000_000)
    }
}
