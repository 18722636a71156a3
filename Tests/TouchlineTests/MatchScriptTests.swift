import Core
import Executables
import Testing

@testable import touchline

@Suite("An openfootball file")
struct MatchScriptTests {
    private func script(_ match: String) throws -> MatchScript {
        let file = try OpenFootballFile(json: Array(#"{"name":"Cup","matches":[\#(match)]}"#.utf8))
        return try #require(MatchScriptWriter.script(of: file.matches[0]))
    }

    /// The scores in the order of play, each once.
    private func scores(_ script: MatchScript) -> [String] {
        script.steps.reduce(into: []) { scores, step in
            let score = "\(step.state.home)-\(step.state.away)"
            if scores.last != score { scores.append(score) }
        }
    }

    private func phases(_ script: MatchScript) -> [ScoreState.Phase] {
        script.steps.reduce(into: []) { phases, step in
            if phases.last != step.state.phase { phases.append(step.state.phase) }
        }
    }

    @Test("has its goals sorted into the order of play, over both lists")
    func sortsGoals() throws {
        let script = try script(
            """
            {"team1":"Ñandú","team2":"Über","score":{"ht":[1,1],"ft":[2,2],"et":[3,2]},
             "goals1":[{"name":"Á","minute":108},{"name":"B","minute":45,"offset":2,"penalty":true},
                       {"name":"C","minute":"90+9"}],
             "goals2":[{"name":"D","minute":"46"},{"name":"E","minute":45,"owngoal":true}]}
            """
        )
        #expect(scores(script) == ["0-0", "0-1", "1-1", "1-2", "2-2", "3-2"])
        #expect(phases(script) == [.first, .break, .second, .break, .extra, .break, .extra, .full])
        #expect(script.final.scorer == "Á")
        #expect(script.final.homeName == "Ñandú")
        let clocks = script.steps.filter { $0.alert?.title.hasPrefix("Goal") == true }.map(\.state.clock)
        #expect(clocks == ["45'", "45+2'", "46'", "90+9'", "108'"])
        #expect(script.steps[3].alert?.body == "E, 45' (o.g.)")
        #expect(script.steps.map(\.elapsedMinutes) == script.steps.map(\.elapsedMinutes).sorted())
    }

    @Test("without lists of goals goes by the score", arguments: ["", #","goals1":[],"goals2":[]"#])
    func goesByScore(goals: String) throws {
        let script = try script(#"{"team1":"A","team2":"B","score":{"ht":[1,0],"ft":[1,2]}\#(goals)}"#)
        #expect(scores(script) == ["0-0", "1-0", "1-2"])
        #expect(script.steps.last?.kind == .end)
        #expect(script.final.phase == .full)
    }

    @Test("with only the total of a shoot-out sends only the total")
    func sendsTotal() throws {
        let script = try script(
            #"{"team1":"A","team2":"B","score":{"ft":[0,0],"et":[0,0],"p":[3,0]}}"#
        )
        #expect(phases(script).suffix(2) == [.shootout, .full])
        #expect(script.steps.dropLast().allSatisfy { $0.state.homePenalties == nil })
        #expect(script.final.homePenalties == 3)
        #expect(script.final.awayPenalties == 0)
    }

    @Test("reads a shoot-out straight after 90 minutes, and a team as an object")
    func readsShootOutWithoutExtraTime() throws {
        let script = try script(
            #"{"team1":{"name":"A","code":"AAA"},"team2":"B","score":{"ft":[1,1],"p":[4,5]},"goals1":[{"name":"X","minute":94}]}"#
        )
        #expect(phases(script) == [.first, .break, .second, .shootout, .full])
        #expect(script.final.score == "1–1 (4–5 pens)")
        #expect(script.final.homeName == "A")
    }

    @Test(
        "tells its score in older spellings too",
        arguments: [
            (#""score":[2,1]"#, "2–1"), (#""score1":0,"score2":2"#, "0–2"),
            (
                #""score1":1,"score2":1,"score1i":0,"score2i":1,"score1et":1,"score2et":1,"score1p":4,"score2p":3"#,
                "1–1 (4–3 pens)"
            ),
        ]
    )
    func readsOlderScores(members: String, score: String) throws {
        #expect(try script(#"{"team1":"A","team2":"B",\#(members)}"#).final.score == score)
    }

    @Test(
        "without a played match is no script",
        arguments: [#""score":{}"#, #""score":null"#, #""score":{"ht":[0,0]}"#]
    )
    func readsNoScore(members: String) throws {
        let file = try OpenFootballFile(json: Array(#"{"matches":[{"team1":"A","team2":"B",\#(members)}]}"#.utf8))
        #expect(MatchScriptWriter.script(of: file.matches[0]) == nil)
    }

    @Test("leaves out a goal that the score does not know")
    func leavesOutGoals() throws {
        let script = try script(
            #"{"team1":"A","team2":"B","score":{"ft":[1,0]},"goals1":[{"name":"X","minute":5},{"name":"Y","minute":7}]}"#
        )
        #expect(scores(script) == ["0-0", "1-0"])
    }

    @Test("goes by its goals when they add up, and the half-time score is wrong")
    func goesByGoals() throws {
        let script = try script(
            #"{"team1":"A","team2":"B","score":{"ht":[2,1],"ft":[1,1]},"goals1":[{"name":"X","minute":5}],"#
                + #""goals2":[{"name":"Y","minute":"94"}]}"#
        )
        #expect(scores(script) == ["0-0", "1-0", "1-1"])
    }

    @Test("marks goals and phases as key, the clock as routine")
    func marksImportance() throws {
        let script = try script(
            #"{"team1":"A","team2":"B","score":{"ft":[1,0]},"goals1":[{"name":"X","minute":20}]}"#
        )
        let keys = script.steps.filter { $0.importance == .key }.map(\.state.clock)
        #expect(keys == ["1'", "20'", "45'", "46'", "90'"])
        #expect(script.steps.contains { $0.importance == .routine && $0.alert == nil })
    }

    @Test("without a score is no script")
    func skipsUnplayed() throws {
        let file = try OpenFootballFile(json: Array(#"{"matches":[{"team1":"A","team2":"B"}]}"#.utf8))
        #expect(MatchScriptWriter.script(of: file.matches[0]) == nil)
    }

    @Test(
        "that is none is refused with the place",
        arguments: [
            ("[]", "the JSON"), (#"{"matches":[{"team1":"A"}]}"#, "matches.[1].team2"),
            (#"{"matches":[{"team1":"A","team2":"B","goals1":[{"name":"X","minute":"soon"}]}]}"#, "soon"),
            ("{", "JSON"),
        ]
    )
    func refuses(json: String, place: String) throws {
        let failure = try #require(throws: Failure.self) { try OpenFootballFile(json: Array(json.utf8)) }
        #expect(failure.message.contains(place), "\(failure.message)")
    }

    @Test(
        "has minutes in several spellings",
        arguments: [("23", "23'"), ("90+9", "90+9'"), ("45 + 2'", "45+2'"), ("+3", nil), ("", nil), ("1+2+3", nil)]
    )
    func readsMinutes(text: String, shown: String?) {
        #expect(MatchMinute(text)?.text == shown)
    }
}

@Suite("A script of a match")
struct MatchScriptBodyTests {
    @Test("becomes the same bodies in every run, with its sequence")
    func bodies() throws {
        let script = try #require(MatchScriptWriter.script(of: FinalOf2022.match, kicks: FinalOf2022.kicks))
        let body = script.eventBody(at: 1).text
        #expect(
            body.hasPrefix(#"{"id":"replay-2","kind":"update","sequence":2,"importance":"routine","content_state":{"#)
        )
        #expect(script.eventBody(at: script.steps.count - 1).text.contains(#""home_penalties":4,"away_penalties":2"#))
    }

    @Test("of the final of 2022 tells it kick by kick")
    func finalOf2022() throws {
        let script = try #require(MatchScriptWriter.script(of: FinalOf2022.match, kicks: FinalOf2022.kicks))
        let kicks = script.steps.filter { $0.state.homePenalties != nil && $0.kind == .update }
            .map { "\($0.state.homePenalties ?? -1)-\($0.state.awayPenalties ?? -1)" }
        #expect(kicks == ["0-1", "1-1", "1-1", "2-1", "2-1", "3-1", "3-2", "4-2"])
        #expect(script.final.score == "3–3 (4–2 pens)")
    }
}
