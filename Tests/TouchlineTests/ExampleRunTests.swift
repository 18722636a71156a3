import EventLoop
import Executables
import Foundation
import Glibc
import Store
import TestSupport
import Testing

@testable import touchline

@Suite("Every example of every help", .database, .timeLimit(.minutes(10)))
struct ExampleRunTests {
    /// The arguments that ask for a help: of all, of each noun, of each command.
    private static var pages: [[String]] {
        let nouns = Set(Command.all.filter { $0.words.count > 1 }.map { $0.words[0] }).sorted()
        return [["--help"]] + Command.all.map { $0.words + ["--help"] } + nouns.map { [$0, "--help"] }
    }

    /// The lines that a help offers to be copied, as they are printed, a folded one as it stands.
    private static func examples(in help: String) -> [String] {
        let lines = help.components(separatedBy: "\n")
        var examples: [String] = []
        for (index, line) in lines.enumerated() {
            let isFirst = line.hasPrefix("example: ")
            // Further ones stand behind the first, under what they do.
            let isFurther = !examples.isEmpty && line.hasPrefix("    ") && lines[index - 1].hasSuffix(":")
            guard isFirst || isFurther else { continue }
            var example = String(line.dropFirst(isFirst ? 9 : 4))
            var next = index + 1
            while example.hasSuffix("\\"), next < lines.count {
                example += "\n" + lines[next]
                next += 1
            }
            examples.append(example)
        }
        return examples
    }

    /// The files that examples name, and what they are about.
    private func prepare(_ stage: CommandStage) async throws -> [String: String] {
        let files = [
            "worldcup.json": #"""
            {"name":"Cup","matches":[{"date":"2026-06-11","time":"13:00 UTC-6","team1":"Mexico","team2":"Peru",
              "score":{"ft":[1,0]},"goals1":[{"name":"X","minute":7}],"goals2":[]}]}
            """#,
            "fixtures.csv": "match,kickoff_at,content_state.home,content_state.away\ncup-1,2031-08-22T14:00:00Z,0,0\n",
            "season.jsonl":
                #"{"match":"cup-2","type":"MatchAttributes","kickoff_at":"2031-08-22T14:00:00Z","#
                + #""content_state":{"home":0,"away":0}}"#,
            "events.jsonl": #"{"match":"final","id":"line-1","content_state":{"home":0,"away":0}}"#,
            "goal.json": #"{"id":"1","importance":"key","content_state":{"home":1,"away":1}}"#,
        ]
        for (name, text) in files {
            try text.write(toFile: "\(stage.folder)/\(name)", atomically: true, encoding: .utf8)
        }
        let script = """
            export TOUCHLINE_KEY=$(cat ~/touchline/operator.key)
            export TOUCHLINE_TENANT=$(touchline tenant create acme | awk '/^tenant/ {print $2}')
            touchline app set com.acme.scores production --team-id SIMTEAM001 --key-id SIMKEY0001 --p8 AuthKey.p8 >&2
            touchline type set com.acme.scores MatchAttributes --content-state '{"home":"int","away":"int"}' >&2
            touchline match create final --bundle com.acme.scores --type MatchAttributes \\
                --kickoff-at "$(date -u +%FT%TZ)" --content-state '{"home":0,"away":0}' >&2
            touchline channel show final --wait 60 >&2
            echo "tenant=$TOUCHLINE_TENANT"
            """
        let run = try await stage.run(script)
        try #require(run.ending == .exited(0), "\(run.output)")
        let tenant = try #require(run.output.split(separator: "tenant=").last).split(separator: "\n")[0]
        // A channel that was made here once, and is no match's any more.
        _ = try await stage.store.owner(
            by: .patient,
            """
            INSERT INTO channel_ids (tenant_id, bundle, environment, channel_id, match_id, cadence)
            VALUES ('\(tenant)', 'com.acme.scores', 'production', '8KqTm2vBEe+AQAAAAAAAAA==', 'old', 'any')
            """
        )
        let key = try String(contentsOfFile: "\(stage.folder)/touchline/operator.key", encoding: .utf8)
        return [
            "TOUCHLINE_KEY": key, "TOUCHLINE_TENANT": String(tenant), "TOUCHLINE_APNS_CA": stage.apns.ca_file,
            "TOUCHLINE_APNS_PRODUCTION_PUSH": stage.apns.production.push,
            "TOUCHLINE_APNS_PRODUCTION_MANAGE": stage.apns.production.manage,
            "TOUCHLINE_APNS_SANDBOX_PUSH": stage.apns.sandbox.push,
            "TOUCHLINE_APNS_SANDBOX_MANAGE": stage.apns.sandbox.manage,
            // Whatever else runs on this machine.
            "TOUCHLINE_LISTEN": "127.0.0.1:0", "TOUCHLINE_METRICS_LISTEN": "127.0.0.1:0",
        ]
    }

    /// Runs one line; what goes on until it is told to end is told so when it shows that it works.
    private func run(
        _ example: String,
        on stage: CommandStage,
        _ environment: [String: String]
    ) async throws -> CommandStage.Run {
        if example.hasPrefix("touchline serve") {
            return try await stage.run("exec \(example)", environment, signal: SIGTERM) { $0.contains("http://") }
        }
        if example.hasPrefix("touchline match watch") {
            return try await stage.run("exec \(example)", environment, signal: SIGINT) { $0.contains("version") }
        }
        if example.hasPrefix("touchline match withdraw-end") {
            // One that is held for longer than this machine needs.
            let hold = "UPDATE matches SET end_requested_at = now(), end_due_at = now() + interval '1 hour'"
            _ = try await stage.store.owner(by: .patient, "\(hold) WHERE match_id = 'final'")
        }
        return try await stage.run(example, environment)
    }

    @Test("works as printed")
    func works() async throws {
        try await CommandStage.with { stage in
            let environment = try await prepare(stage)
            var examples: [String] = []
            for page in Self.pages {
                let run = try await stage.run("touchline \(page.joined(separator: " "))")
                #expect(run.ending == .exited(0), "\(page)")
                let found = Self.examples(in: run.output)
                #expect(!found.isEmpty, "\(page) has no example")
                for example in found where !examples.contains(example) { examples.append(example) }
            }
            #expect(examples.count >= Command.all.count)
            // What a later example needs is deleted last.
            let isLast = { (example: String) in example.split(separator: " ").dropFirst(2).first == "delete" }
            for example in examples.filter({ !isLast($0) }) + examples.filter(isLast).reversed() {
                let run = try await run(example, on: stage, environment)
                #expect(run.ending == .exited(0), "\(example)\n\(run.output)")
            }
        }
    }

    @Test("says what it means when nothing is sent for an event")
    func remarks() async throws {
        try await CommandStage.with { stage in
            let environment = try await prepare(stage)
            let event = "touchline event send final --content-state '{\"home\":1,\"away\":0}' --id"
            for (line, code, text) in [
                ("\(event) 1 --occurred-at 2026-01-02T00:00:00Z", 0, "accepted"),
                ("\(event) 1 --occurred-at 2026-01-02T00:00:00Z", 0, "there already, with the same values"),
                ("\(event) 2 --occurred-at 2026-01-01T00:00:00Z", 1, "before the newest event (2026-01-02T00:00:00Z)"),
                ("\(event) 3 --occurred-at 2026-01-03T00:00:00Z --sequence 5000", 0, "accepted"),
                ("\(event) 4 --sequence 7", 1, "touchline match reset-order final"),
                ("\(event) 5 --occurred-at 2026-01-04T00:00:00Z --sequence 7", 0, "counts anew"),
                ("\(event) 6", 1, "the match has ended"),
            ] as [(String, Int32, String)] {
                if text.contains("ended") {
                    let end = "SELECT touchline_end(tenant_id, match_id) FROM matches"
                    _ = try await stage.store.owner(by: .patient, end)
                }
                let run = try await stage.run(line, environment)
                #expect(run.ending == .exited(code), "\(line)\n\(run.output)")
                #expect(run.output.contains(text), "\(line)\n\(run.output)")
                let json = try await stage.run("\(line) --json 2>/dev/null", environment)
                #expect(json.ending == .exited(code), "\(line)\n\(json.output)")
                #expect(json.output.hasPrefix("{") && json.output.split(separator: "\n").count == 1, "\(json.output)")
            }
        }
    }

    @Test("names what to type where an id is wrong")
    func wrongIDs() async throws {
        try await CommandStage.with { stage in
            let environment = try await prepare(stage)
            for (line, texts) in [
                ("match show finale", ["Did you mean “final”?", "touchline match list"]),
                ("match watch fnal --once", ["Did you mean “final”?"]),
                ("event send finel --id 1 --content-state '{\"home\":1,\"away\":0}'", ["Did you mean “final”?"]),
                ("event preview nothing --content-state '{}'", ["touchline match list"]),
                ("match deliveries finall", ["Did you mean “final”?"]),
                ("match pause x", ["touchline match list"]), ("match delete finla", ["Did you mean “final”?"]),
                ("channel show finals", ["Did you mean “final”?"]),
                ("activity set fina a --token 0a1b", ["Did you mean “final”?"]),
                ("app show com.acme.score production", ["Did you mean “com.acme.scores”?", "touchline app list"]),
                ("type show com.acme.scores MatchAttribute", ["Did you mean “MatchAttributes”?", "type list"]),
                ("tenant show t_nobody", ["touchline tenant list"]), ("key delete k_nothing", ["touchline key list"]),
                ("channel delete AAAA", ["touchline channel audit"]), ("device delete x", ["touchline device list"]),
                ("match start finl", ["Did you mean “final”?"]), ("match starts finl", ["touchline match list"]),
            ] {
                let run = try await stage.run("touchline \(line)", environment)
                #expect(run.ending == .exited(3), "\(line)\n\(run.output)")
                for text in texts { #expect(run.output.contains(text), "\(line)\n\(run.output)") }
            }
            for (line, variable, value, ending, text) in [
                ("match list", "TOUCHLINE_TENANT", "", Int32(1), "touchline tenant list"),
                ("key list", "TOUCHLINE_TENANT", "", 2, "export TOUCHLINE_TENANT="),
                ("match list", "TOUCHLINE_KEY", "", 2, "export TOUCHLINE_KEY="),
                ("match list", "TOUCHLINE_KEY", "tl_operator_k_x", 4, "TOUCHLINE_KEY"),
                ("match list", "TOUCHLINE_URL", "http://127.0.0.1:1", 1, "TOUCHLINE_URL"),
            ] {
                let run = try await stage.run("touchline \(line)", environment.merging([variable: value]) { $1 })
                #expect(run.ending == .exited(ending) && run.output.contains(text), "\(line)\n\(run.output)")
            }
            let unknownApp = """
                touchline match create m --bundle com.acme.score --type T --kickoff-at 2031-01-01T00:00:00Z \\
                    --content-state '{}'
                """
            let run = try await stage.run(unknownApp, environment)
            #expect(run.ending == .exited(1) && run.output.contains("Did you mean “com.acme.scores”?"), "\(run.output)")
        }
    }
}

@Suite("A mistake on the command line")
struct MistakeTests {
    private func failure(_ words: [String]) async -> (code: Int32, text: String) {
        do throws(Failure) {
            let parser = CommandParser(program: .touchline, commands: Command.all)
            switch try parser.parse(
                words,
                environment: [
                    "TOUCHLINE_KEY": "tl_x", "TOUCHLINE_TENANT": "t_x", "TOUCHLINE_URL": "http://127.0.0.1:1",
                ]
            ) {
            case .help: return (0, "help")
            case .run(let invocation): try await invocation.command.run(invocation)
            }
            return (0, "")
        } catch {
            return (error.kind.rawValue, "\(error.message)\n\(error.hint ?? "")")
        }
    }

    @Test("in a command's words is told the right ones", arguments: Command.all.map(\.words))
    func misspeltVerb(words: [String]) async {
        var wrong = words
        wrong[words.count - 1] += "x"
        let (code, text) = await failure(wrong)
        #expect(code == 2 && text.contains("Did you mean “\(words[words.count - 1])”?"), "\(wrong): \(text)")
    }

    @Test("in an option's name is told the right one", arguments: Command.all.map(\.words))
    func misspeltOption(words: [String]) async throws {
        let command = try #require(Command.all.first { $0.words == words })
        for option in command.options where option.name.count > 6 {
            let (code, text) = await failure(words + [String(option.name.dropLast()) + "x"])
            #expect(code == 2 && text.contains("Did you mean “--"), "\(option.name): \(text)")
        }
    }

    @Test("that leaves out a word is shown a line that has it", arguments: Command.all.map(\.words))
    func missingWord(words: [String]) async throws {
        let command = try #require(Command.all.first { $0.words == words })
        guard command.arguments.contains(where: { !$0.isOptional }) else { return }
        let (code, text) = await failure(words)
        #expect(code == 2 && text.contains("needs \(command.arguments[0].usage)"), "\(text)")
        #expect(text.contains("Try: \(command.example)"), "\(text)")
    }

    @Test("in the file of the API key is told before anything is asked")
    func wrongKeyFile() async throws {
        let (code, text) = await failure(["match", "list", "--key-file", "/etc/passwd"])
        #expect(code == 2 && text.contains("the key in /etc/passwd is no API key") && text.contains("tl_"), "\(text)")
    }

    @Test("that leaves out a needed option is told it, before anything is asked", arguments: Command.all.map(\.words))
    func missingOption(words: [String]) async throws {
        let command = try #require(Command.all.first { $0.words == words })
        let plain = command.arguments.filter { !$0.isOptional }.map { _ in "x" }
        let needed = command.options.filter(\.isRequired).map(\.name)
        guard !needed.isEmpty else { return }
        let (code, text) = await failure(words + plain)
        #expect(code == 2 && needed.contains { text.contains($0) }, "\(words): \(text)")
    }
}
