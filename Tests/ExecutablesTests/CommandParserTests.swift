import Testing

@testable import Executables

@Suite("A command line")
struct CommandParserTests {
    private static let program = Program(name: "touchline", introduction: "Scores.", closing: "example: touchline")

    private static let commands = [
        Command(
            "match show",
            "one match",
            arguments: [Argument("MATCH", "its id")],
            options: [
                Option("--url", "URL", environment: "T_URL", default: "http://d", "where"),
                Option("--limit", "N", otherNames: ["-n"], "how many"),
                Option("--json", environment: "T_JSON", "as JSON"),
            ],
            example: "touchline match show a/1",
            run: { _ throws(Failure) in }
        ),
        Command(
            "replay",
            "files",
            arguments: [Argument("FILE", "a file", repeats: true)],
            example: "touchline replay x",
            run: { _ throws(Failure) in }
        ),
    ]

    private func parse(_ line: String, _ environment: [String: String] = [:]) throws -> CommandParser.Decision {
        try CommandParser(program: Self.program, commands: Self.commands).parse(
            line.split(separator: " ").map(String.init),
            environment: environment
        )
    }

    private func invocation(_ line: String, _ environment: [String: String] = [:]) throws -> Invocation {
        guard case .run(let invocation) = try parse(line, environment) else { throw Failure(.failed, "help") }
        return invocation
    }

    @Test("takes words and options in any order")
    func takesWordsAndOptions() throws {
        let found = try invocation("match show --limit=5 a/1 --json")
        #expect(found.command.name == "match show")
        #expect(found.words == ["a/1"])
        #expect(try found.integer("--limit", in: 1...9) == 5)
        #expect(found.isOn("--json"))
    }

    @Test("prefers what is typed to the environment, and that to the default")
    func prefersWhatIsTyped() throws {
        #expect(try invocation("match show a").value("--url") == "http://d")
        #expect(try invocation("match show a", ["T_URL": "http://e"]).value("--url") == "http://e")
        #expect(try invocation("match show a", ["T_URL": ""]).value("--url") == "http://d")
        #expect(try invocation("match show a --url http://f", ["T_URL": "http://e"]).value("--url") == "http://f")
        #expect(try invocation("match show a", ["T_JSON": "1"]).isOn("--json"))
    }

    @Test("takes everything behind -- as a word")
    func takesWordsBehindDashes() throws {
        #expect(try invocation("replay -- --odd.json b").words == ["--odd.json", "b"])
    }

    @Test(
        "is refused, with a hint",
        arguments: [
            ("mtach show a", "match"), ("match shwo a", "show"), ("match show a --limt 3", "--limit"),
            ("match show a -n 3", "--limit"),
            ("match show", "match show"), ("replay", "replay"), ("match show a b", "match show"),
        ]
    )
    func suggests(line: String, hint: String) throws {
        let failure = try #require(throws: Failure.self) { try parse(line) }
        #expect(failure.kind == .wrongUse)
        #expect(failure.hint?.contains(hint) == true, "\(failure.hint ?? "no hint")")
    }

    @Test("is refused where a value is missing or wrong", arguments: ["--limit", "--json=yes", "--limit --json"])
    func refusesValues(rest: String) throws {
        #expect(throws: Failure.self) { try parse("match show a \(rest)") }
    }

    @Test("says what a number must be")
    func saysNumbers() throws {
        let found = try invocation("match show a --limit many")
        #expect(throws: Failure(.wrongUse, "--limit must be a whole number from 1 to 9, not “many”")) {
            try found.integer("--limit", in: 1...9)
        }
    }

    @Test(
        "asks for help anywhere",
        arguments: ["", "--help", "help", "match", "match --help", "replay x -h", "help replay"]
    )
    func helps(line: String) throws {
        guard case .help(let text) = try parse(line) else {
            Issue.record("no help")
            return
        }
        #expect(text.contains("usage: touchline"))
        #expect(text.contains("example: "))
    }

    @Test("knows near words", arguments: [("serv", "serve"), ("dmeo", "demo"), ("xyzzy", nil)])
    func knowsNearWords(word: String, near: String?) {
        #expect(Suggestion.nearest(to: word, among: ["serve", "demo", "match"]) == near)
    }
}
