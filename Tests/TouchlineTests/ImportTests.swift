import Core
import Executables
import Foundation
import Testing

@testable import touchline

@Suite("A file of fixtures")
struct FixtureFileTests {
    private func read(_ text: String, zone: String = "Z") -> FixtureFile {
        FixtureFile(Array(text.utf8), FixtureFile.Defaults(stem: "cup", zone: zone))
    }

    @Test("is read as JSON lines, as a JSON list and as CSV, with the same bodies")
    func formats() throws {
        let lines = """
            {"match":"a/1","kickoff_at":"2026-08-22T14:00:00+02:00","topics":["team:a","team:b"],"content_state":{"home":0,"name":"1. FC"}}

            {"match":"a/2","kickoff_at":"2026-08-23T14:00:00Z"}
            """
        let list = "[" + lines.split(separator: "\n").joined(separator: ",\n") + "]"
        let csv = """
            match,kickoff_at,topics,content_state.home,content_state.name\r
            a/1,2026-08-22T14:00:00+02:00,team:a;team:b,0,"1. FC"\r
            a/2,2026-08-23T14:00:00Z,,,\r

            """
        for text in [lines, list, csv, "\u{FEFF}" + csv] {
            let file = read(text)
            #expect(file.faults == [])
            #expect(file.fixtures.map(\.match) == ["a/1", "a/2"])
            let first = try #require(file.fixtures.first)
            #expect(first.value("kickoff_at")?.text == #""2026-08-22T14:00:00+02:00""#)
            #expect(first.value("topics")?.text == #"["team:a","team:b"]"#)
            #expect(first.value("content_state")?.text == #"{"home":0,"name":"1. FC"}"#)
            #expect(file.fixtures[1].members.count == 1)
        }
        #expect(read(csv).fixtures.map(\.place) == ["line 2", "line 3"])
        #expect(read(lines).fixtures.map(\.place) == ["line 1", "line 3"])
    }

    @Test(
        "says the same as the service in other blanks, escapes and orders, and with the dates of a contract converted",
        arguments: [
            (#"{"a": [1, 2.50], "b": {"c": null, "d": true}}"#, #"{"b":{"d":true,"c":null},"a":[1,2.50]}"#, true),
            (#"{"a":"caf\u00e9"}"#, #"{"a":"café"}"#, true), (#"{"a":1}"#, #"{"a":1,"b":2}"#, false),
            (#"{"a":1,"b":2}"#, #"{"a":1}"#, false), (#"{"a":1.0}"#, #"{"a":1}"#, false),
            (#"{"a":"2027-08-22T14:00:00+02:00"}"#, #"{"a":840628800}"#, true),
            (#"{"a":"2027-08-22T14:00:00.25Z"}"#, #"{"a":840636000.25}"#, true),
            (#"{"a":"2027-08-22T14:00:01Z"}"#, #"{"a":840636000}"#, false), (#"{"a":"x"}"#, #"{"a":1}"#, false),
            (#"{"expires_after":1,"loc_key":"x"}"#, #"{"loc-key":"x"}"#, false), (#"["a", "b"]"#, #"["b","a"]"#, false),
        ]
    )
    func saysTheSame(wanted: String, found: String, isSame: Bool) throws {
        let (wanted, found) = (try JSONScanner.decode(Array(wanted.utf8)), try JSONScanner.decode(Array(found.utf8)))
        #expect(ShownJSON().shows(found, for: wanted) == isSame)
    }

    @Test("is held against the contracts of its types before anything is done")
    func contracts() throws {
        let types = try JSONScanner.decode(
            Array(#"[{"type":"S","content_state":{"home":"int","at":"date?"},"attributes":{"name":"string"}}]"#.utf8)
        )
        guard case .array(let items) = types.content else { throw Failure(.failed, "no list") }
        let contracts = FixtureContracts(items, of: "b")
        func check(_ members: String) throws -> [String] {
            let file = read(#"{"match":"a","bundle":"b","kickoff_at":"2026-08-22T14:00:00Z",\#(members)}"#)
            return try contracts.check(try #require(file.fixtures.first))
        }
        #expect(try check(#""type":"S","content_state":{"home":0,"x":1}"#) == ["unknown_key:content_state.x"])
        #expect(try check(#""type":"T","content_state":{"home":"0"}"#) == ["type_without_contract"])
        let failure = #expect(throws: Failure.self) { _ = try check(#""type":"S","content_state":{"home":"0"}"#) }
        #expect(failure?.code == "contract_violation" && failure?.message.contains("content_state.home") == true)
        #expect(throws: Failure.self) { _ = try check(#""type":"S","content_state":{"home":0},"attributes":{}"#) }
        #expect(throws: Failure.self) { _ = try check(#""type":"S","content_state":{"home":0,"at":1784487600}"#) }
    }

    @Test("says the same of a start as the service, which spells localised alerts as Apple does")
    func saysTheSameStart() throws {
        let wanted = #"{"alert": {"title": {"loc_key": "t", "loc_args": ["a"]}, "expires_after": 60}, "lead": 60}"#
        let found = #"{"alert":{"title":{"loc-key":"t","loc-args":["a"]}},"lead":60}"#
        let values = try [wanted, found].map { try JSONScanner.decode(Array($0.utf8)) }
        #expect(ShownJSON(isStart: true).shows(values[1], for: values[0]))
    }

    @Test("of CSV may have commas, quotes and line ends within quotes")
    func quotes() {
        let file = read("match,kickoff_at,content_state.x\na,2026-01-01T00:00:00Z,\"x, \"\"y\"\"\nz\"\nb,soon,\n")
        #expect(file.fixtures.first?.value("content_state")?.text == #"{"x":"x, \"y\"\nz"}"#)
        #expect(file.faults.map(\.place) == ["line 4"])
    }

    @Test("of openfootball has the ids of a replay, and kick-offs in their zones", arguments: ["matches", "rounds"])
    func openFootball(shape: String) throws {
        let matches = """
            [{"date":"2026-06-11","time":"13:00 UTC-6","team1":"Mexico","team2":"South Africa"},
             {"date":"2026-06-12","time":"9:30","team1":{"name":"Ä & Ö"},"team2":"B"}]
            """
        let text = shape == "matches" ? #"{"matches":\#(matches)}"# : #"{"rounds":[{"matches":\#(matches)}]}"#
        let file = read(text, zone: "+03:00")
        #expect(file.faults == [])
        #expect(file.fixtures.map(\.match) == ["cup/1", "cup/2"])
        #expect(file.fixtures[0].value("kickoff_at")?.text == #""2026-06-11T19:00:00Z""#)
        #expect(file.fixtures[1].value("kickoff_at")?.text == #""2026-06-12T06:30:00Z""#)
        #expect(
            file.fixtures[0].value("topics")?.text == #"["competition:cup","team:mexico","team:south-africa"]"#
        )
        let state = try #require(file.fixtures[1].value("content_state")?.text)
        #expect(state.contains(#""home_name":"Ä & Ö""#) && state.contains(#""phase":"scheduled""#))
    }

    @Test(
        "with mistakes names each with its line",
        arguments: [
            ("", "line 1", "empty"),
            (#"{"match":"a","kickoff_at":"2026-01-01T00:00:00Z"}"# + "\n{broken", "line 2", "quotes is missing"),
            (#"{"match":"a"}"#, "line 1", "“kickoff_at” is missing"),
            (#"[{"kickoff_at":"2026-01-01T00:00:00Z"}]"#, "match 1", "“match”"),
            (#"[{"match":"a","kickoff_at":"tomorrow"}]"#, "match 1", "tomorrow"),
            (#"[{"match":"a","kickoff_at":"2026-01-01T00:00:00Z","topic":[]}]"#, "match 1", "did you mean “topics”?"),
            ("match,kickof_at\na,b", "line 1", "kickoff_at among them"),
            ("match,kickoff_at,staus\na,2026-01-01T00:00:00Z,", "line 1", "did you mean “status”?"),
            ("match,kickoff_at\na", "line 2", "1 cells"),
            ("match,kickoff_at\na,2026-01-01T00:00:00Z\na,2026-01-01T00:00:00Z", "line 3", "stands in line 2 already"),
            ("match,kickoff_at\na,\"2026", "line 2", "not closed"),
            (#"{"matches":[{"date":"2026-06-11","time":"noon","team1":"A","team2":"B"}]}"#, "match 1", "noon"),
            (#"{"matches":[{"team1":"A"}]}"#, "the file", "team2"),
        ]
    )
    func mistakes(text: String, place: String, what: String) throws {
        let fault = try #require(read(text).faults.first, "\(text)")
        #expect(fault.place == place)
        #expect(fault.what.contains(what), "\(fault.what)")
    }

    @Test("in CSV names all of its mistakes, and the line that is not in UTF-8")
    func everyMistake() throws {
        let text = "match,kickoff_at\na,tomorrow\nb\nc,2026-01-01T00:00:00Z\nd,never\n"
        #expect(read(text).faults.map(\.place) == ["line 2", "line 3", "line 5"])
        // As Excel writes it, unless told otherwise.
        let latin = Array("match,kickoff_at\nM".utf8) + [0xFC] + Array("nchen,2026-01-01T00:00:00Z\n".utf8)
        let file = FixtureFile(latin, FixtureFile.Defaults(stem: "cup", zone: "Z"))
        #expect(file.fixtures.isEmpty && file.faults.map(\.place) == ["line 2"])
        #expect(file.faults[0].what.contains("UTF-8"))
    }
}

@Suite("An import of fixtures", .timeLimit(.minutes(10)))
struct FixtureImportTests {
    private static func season(_ count: Int, minute: String = "00") -> [Fixture] {
        let lines = (1...count).map { number in
            #"{"match":"s/\#(number)","kickoff_at":"2031-08-22T14:\#(minute):00Z","topics":["team:\#(number % 20)"],"#
                + #""content_state":{"home":0,"away":0}}"#
        }
        let file = FixtureFile(Array(lines.joined(separator: "\n").utf8), FixtureFile.Defaults(stem: "s"))
        return file.fixtures.map { fixture in
            var fixture = fixture
            fixture.fill("bundle", with: .string(DemoStage.bundle))
            fixture.fill("type", with: "Plain")
            return fixture
        }
    }

    private func sum(_ fixtures: [Fixture], _ importer: FixtureImport) async throws -> ImportReport {
        let outcomes = try await importer.run(fixtures) { _ in }
        return ImportReport(fixtures: fixtures, outcomes: outcomes, isDry: importer.isDry)
    }

    /// Waits for a match's end: it is held five seconds.
    private func ended(_ match: String, _ api: APIClient) async throws {
        let deadline = ContinuousClock.now + .seconds(120)
        while try await !api.send("GET", "/v1/matches/\(match)").text.contains(#""status":"ended""#) {
            try #require(.now < deadline)
            try await Task.sleep(for: .milliseconds(100))
        }
    }

    @Test("makes what is missing, changes what differs, and again changes nothing")
    func isIdempotent() async throws {
        let services = try Workplace(in: ProcessInfo.processInfo.environment["TMPDIR"], name: "touchline-import")
        do {
            let apns = try await services.startSimulator().ready
            let service = try await services.startService(apns).ready
            let script = try #require(MatchScriptWriter.script(of: FinalOf2022.match))
            let stage = try await DemoStage.prepare(service: service, apns: apns, script: script)
            let importer = FixtureImport(api: stage.admin, bundle: DemoStage.bundle)
            var dry = importer
            dry.isDry = true
            let season = Self.season(60)
            let first60 = try await sum(season, dry)
            #expect(first60.text.contains("60 new, 0 changed, 0 as they were (nothing was done)"))
            #expect(first60.text.contains("warning: type_without_contract (60 fixtures)"))
            let first = try await sum(season, importer)
            #expect(first.text.contains("60 new, 0 changed, 0 as they were"))
            #expect(first.text.contains("warning: type_without_contract (60 fixtures)"))
            #expect(try await sum(season, importer).text == "60 fixtures: 0 new, 0 changed, 60 as they were")
            // A kick-off that moved, a match that is gone, and one that the service refuses.
            var next = Self.season(1, minute: "30") + season.dropFirst()
            _ = try await stage.admin.send("DELETE", "/v1/matches/s%2F2")
            next[2].members.removeAll { $0.name == "topics" }
            next[2].members.append(("topics", ["team:3", "team:4"]))
            next[3].members.append(("status", "live"))
            let second = try await sum(next, importer)
            #expect(second.text.contains("1 new, 2 changed, 56 as they were, 1 refused"), "\(second.text)")
            #expect(throws: Failure.self) { try second.print(asJSON: true) }
            // A match that is under way keeps its state.
            let event: JSONOutput = ["id": "1", "content_state": ["home": 1, "away": 0]]
            _ = try await stage.admin.send("POST", "/v1/matches/s%2F5/events", event)
            #expect(try await sum(season.filter { $0.match == "s/5" }, importer).text.contains("1 as they were"))
            // That it was scheduled is true of it still, also when something else differs.
            var scheduled = season.filter { ["s/5", "s/6"].contains($0.match) }
            for index in scheduled.indices { scheduled[index].members.append(("status", "scheduled")) }
            #expect(try await sum(scheduled, importer).text == "2 fixtures: 0 new, 0 changed, 2 as they were")
            scheduled[0].members.removeAll { $0.name == "topics" }
            #expect(try await sum(scheduled, importer).text.contains("0 new, 1 changed, 1 as they were"))
            // An id that is used again for another season: it stays as it ended, until it is renewed.
            _ = try await stage.admin.send("POST", "/v1/matches/s%2F7/events", ["id": "end", "kind": "end"])
            try await ended("s%2F7", stage.admin)
            let again = Self.season(8, minute: "45").filter { ["s/7", "s/8"].contains($0.match) }
            let warned = try await sum(again, importer)
            #expect(warned.text.contains("0 new, 2 changed") && warned.text.contains("match_ended (1 fixture)"))
            #expect(warned.endedText.first?.contains("match s/7: it has ended") == true)
            #expect(warned.endedText.last?.contains("--renew") == true)
            #expect(try await sum(again, importer).endedText == warned.endedText, "also where nothing changes any more")
            var renewing = importer
            renewing.renews = true
            let later = Self.season(8, minute: "50").filter { ["s/7", "s/8"].contains($0.match) }
            #expect(try await sum(later, renewing).endedText == [])
            let begun = try await stage.admin.send("GET", "/v1/matches/s%2F7")
            #expect(begun.text.contains(#""status":"scheduled""#))
            #expect(try await sum(later, renewing).text == "2 fixtures: 0 new, 0 changed, 2 as they were")
            var feed = importer
            feed = FixtureImport(api: stage.feed, bundle: feed.bundle)
            let refused = await #expect(throws: Failure.self) { try await sum(Self.season(61), feed) }
            #expect(refused?.kind == .notAllowed)
        } catch {
            await services.stop()
            throw error
        }
        await services.stop()
    }
}
