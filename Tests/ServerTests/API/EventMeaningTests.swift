import Core
import HTTP2
import PostgreSQL
import Server
import Store
import TestSupport
import Testing

/// Match `m1`, its newest events 20:45 and before: the service's clock is 20:46:03.
@Suite("What an event means beside those before it", .database, .timeLimit(.minutes(5)))
struct EventMeaningTests {
    private static let target = "/v1/matches/m1/events"

    private func event(_ id: String, home: Int = 1, sequence: Int64? = nil, at time: String? = nil) -> String {
        let order =
            (sequence.map { #","sequence":\#($0)"# } ?? "")
            + (time.map { #","occurred_at":"2026-07-19T20:\#($0)Z""# } ?? "")
        return #"{"id":"\#(id)","content_state":{"home":\#(home),"away":0,"clock":"9'"}\#(order)}"#
    }

    private func goal(_ id: String, home: Int = 1, kind: String = "update", alert: String? = "Goal!") -> String {
        let alert = alert.map { #","alert":{"title":"\#($0)","body":"1–0"}"# } ?? ""
        let state = #"{"home":\#(home),"away":0,"clock":"9'"}"#
        return #"{"id":"\#(id)","kind":"\#(kind)","importance":"key","content_state":\#(state)\#(alert)}"#
    }

    // MARK: - Order

    @Test("a feed that counts anew is taken up, and said so, where its times go on")
    func restarted() async throws {
        let fixture = try await APIFixture.make()
        let call = fixture.call(fixture.feed)
        _ = try await call.json("POST", Self.target, event("a", sequence: 57, at: "40:00"), 202)
        let anew = try await call.json("POST", Self.target, event("b", home: 2, sequence: 1, at: "41:00"), 202)
        #expect(anew["warnings"].raw == #"["sequence_restarted"]"#)
        let again = try await call.json("POST", Self.target, event("b", home: 2, sequence: 1, at: "41:00"), 202)
        #expect(again.raw == anew.raw && again.response.fields["idempotent-replayed"] == "true")
        // One of the former count that comes late freezes nothing.
        let late = try await call.json("POST", Self.target, event("c", home: 0, sequence: 58, at: "40:30"), 200)
        #expect(late["status"].text == "superseded" && late["reason"].text == "occurred_at")
        let next = try await call.json("POST", Self.target, event("d", home: 3, sequence: 2, at: "41:01"), 202)
        #expect(next["version"].raw == "3" && next["warnings"].raw == "[]")
        let listed = try await call.json("GET", Self.target, 200)
        #expect(listed["items"].elements.map { $0["warnings"].raw } == ["[]", #"["sequence_restarted"]"#, "[]", "[]"])
    }

    @Test("a sequence that is superseded is named with the one that supersedes it")
    func superseded() async throws {
        let fixture = try await APIFixture.make()
        let call = fixture.call(fixture.feed)
        _ = try await call.json("POST", Self.target, event("a", sequence: 57), 202)
        let low = try await call.json("POST", Self.target, event("b", sequence: 1), 200)
        #expect(
            low.raw == #"{"status":"superseded","match":"m1","event":"b","version":1,"warnings":[],"#
                + #""reason":"sequence","newest":{"sequence":57,"occurred_at":null}}"#
        )
        let lines = try await call.lines("/v1/events", [#"{"match":"m1",\#(event("c", sequence: 2).dropFirst())"#])
        #expect(lines[0]["reason"].text == "sequence" && lines[0]["newest"]["sequence"].raw == "57")
    }

    @Test("a feed without times counts anew once its order is reset")
    func reset() async throws {
        let fixture = try await APIFixture.make()
        let call = fixture.call(fixture.feed)
        let high = EventOrder.sequences.upperBound
        _ = try await call.json("POST", Self.target, event("a", sequence: high), 202)
        #expect(try await call.json("POST", Self.target, event("b", sequence: 58), 200)["status"].text == "superseded")
        #expect(try await call.json("GET", "/v1/matches/m1", 200)["last_sequence"].raw == "\(high)")
        try await fixture.call(fixture.read).problem("DELETE", "/v1/matches/m1/order", .roleNotAllowed)
        let match = try await call.json("DELETE", "/v1/matches/m1/order", 200)
        #expect(match["last_sequence"].raw == "null" && match["last_occurred_at"].raw == "null")
        #expect(try await call.json("POST", Self.target, event("c", sequence: 59), 202)["version"].raw == "2")
        try await call.problem("DELETE", "/v1/matches/none/order", .notFound, field: "match")
    }

    @Test(
        "a sequence that would freeze the match is refused",
        arguments: [Int64.max, EventOrder.sequences.upperBound + 1, -1, Int64.min]
    )
    func absurd(sequence: Int64) async throws {
        let fixture = try await APIFixture.make()
        let call = fixture.call(fixture.feed)
        try await call.problem("POST", Self.target, event("a", sequence: sequence), .invalidField, field: "sequence")
        #expect(try await call.json("POST", Self.target, event("b", sequence: 1), 202)["version"].raw == "1")
    }

    @Test("a feed that counts anew within a bulk is taken in the order of its times")
    func restartedInLines() async throws {
        let fixture = try await APIFixture.make()
        let call = fixture.call(fixture.feed)
        let lines = [
            event("c", home: 3, sequence: 1, at: "42:00"), event("a", home: 1, sequence: 5_000, at: "40:00"),
            event("b", home: 2, sequence: 5_001, at: "41:00"),
        ]
        let answers = try await call.lines("/v1/events", lines.map { #"{"match":"m1",\#($0.dropFirst())"# })
        #expect(answers.map { $0["version"].raw } == ["3", "1", "2"])
        #expect(answers.map { $0["warnings"].raw } == [#"["sequence_restarted"]"#, nil, nil])
    }

    // MARK: - Equal values

    @Test("an event that was written anew is the same event while its values are")
    func written() async throws {
        let fixture = try await APIFixture.make()
        let call = fixture.call(fixture.feed)
        let plain = """
            {"id":"e","importance":"key","relevance_score":1.10,"content_state":{"home":1,"away":0,"clock":"é"},\
            "alert":{"title":"Goal!","body":"é"},"aps_extra":{"x":[1,{"b":1,"a":2}]}}
            """
        let first = try await call.json("POST", Self.target, plain, 202)
        for same in [
            #"""
            {"aps_extra":{"x":[1,{"a":2,"b":1}]},"content_state":{"clock":"\u00e9","away":0,"home":1},"id":"e",
             "alert":{"body":"\u00e9","title":"Goal!"},"relevance_score":1.1,"importance":"key"}
            """#,
            plain.replacing("1.10", with: "11e-1").replacing(#""home":1"#, with: #""home":1.0"#),
            plain.replacing(#""id":"e""#, with: #""id":"\u0065","sequence":null"#),
        ] {
            let again = try await call.json("POST", Self.target, same, 202)
            #expect(again.raw == first.raw && again.response.fields["idempotent-replayed"] == "true")
        }
        for other in [
            plain.replacing(#""home":1"#, with: #""home":2"#),
            plain.replacing(#""clock":"é""#, with: #""clock":"e\u0301""#),
            plain.replacing("[1,{", with: "[1.5,{"), plain.replacing("1.10", with: "1.100000000000000001"),
        ] {
            try await call.problem("POST", Self.target, other, .eventConflict, field: "id")
        }
        // Sent is what came, byte for byte.
        let state = try await call.json("GET", "/v1/matches/m1", 200)["content_state"].raw
        #expect(state == #"{"home":1,"away":0,"clock":"é"}"#)
    }

    // MARK: - One goal, two feeds

    private func alertVersion(_ fixture: APIFixture) async throws -> String? {
        try await fixture.store.owner(by: .patient, "SELECT alert_version || ' ' || (alert IS NOT NULL) FROM matches")
            .first?.optionalText(0)
    }

    @Test("a goal that a second feed reports alerts nobody a second time")
    func duplicate() async throws {
        let fixture = try await APIFixture.make()
        let call = fixture.call(fixture.feed)
        _ = try await call.json("POST", Self.target, goal("one/1"), 202)
        let other =
            #"{"alert":{"body":"1\u20130","title":"Goal!","expires_after":60},"id":"two/1","importance":"key","#
            + #""content_state":{"away":0,"clock":"9'","home":1.0}}"#
        let second = try await call.json("POST", Self.target, other, 202)
        #expect(second["version"].raw == "2" && second["warnings"].raw == #"["duplicate_alert"]"#)
        #expect(try await alertVersion(fixture) == "1 true")
        // Also behind a heartbeat, in a bulk, and with the end.
        _ = try await call.json("POST", Self.target, #"{"id":"h","kind":"heartbeat"}"#, 202)
        let line = try await call.lines("/v1/events", [#"{"match":"m1",\#(goal("three/1").dropFirst())"#])[0]
        #expect(line["warnings"].raw == #"["duplicate_alert"]"#)
        let end = try await call.json("POST", Self.target, goal("end", kind: "end"), 202)
        #expect(end["warnings"].raw == #"["duplicate_alert"]"#)
        #expect(try await alertVersion(fixture) == "1 true")
        let urgent = try await fixture.store.owner(by: .patient, "SELECT urgent_version FROM matches")[0].int(0)
        #expect(urgent == 5, "the end is urgent, and nothing between it and the first")
    }

    @Test("a correction that a second feed reports alerts nobody a second time")
    func duplicateCorrection() async throws {
        let fixture = try await APIFixture.make()
        let call = fixture.call(fixture.feed)
        _ = try await call.json("POST", Self.target, goal("one/1"), 202)
        _ = try await call.json("POST", Self.target, goal("one/2", home: 0, kind: "correction", alert: "No goal"), 202)
        let second = goal("two/2", home: 0, kind: "correction", alert: "No goal")
        #expect(try await call.json("POST", Self.target, second, 202)["warnings"].raw == #"["duplicate_alert"]"#)
        #expect(try await alertVersion(fixture) == "2 true")
    }

    @Test(
        "another goal, state or alert alerts, and so does the same after a correction or its life",
        arguments: ["state", "alert", "state between", "correction", "correction with its alert", "expired"]
    )
    func noDuplicate(case name: String) async throws {
        let fixture = try await APIFixture.make()
        let call = fixture.call(fixture.feed)
        _ = try await call.json("POST", Self.target, goal("one"), 202)
        var next = goal("two")
        switch name {
        case "state": next = goal("two", home: 2)
        case "alert": next = goal("two", alert: "Goooal!")
        case "state between": _ = try await call.json("POST", Self.target, event("clock", home: 3), 202)
        case "correction":
            _ = try await call.json("POST", Self.target, goal("var", home: 1, kind: "correction", alert: nil), 202)
        case "correction with its alert":
            let correction = goal("var", home: 1, kind: "correction")
            #expect(try await call.json("POST", Self.target, correction, 202)["warnings"].raw == "[]")
        default:
            let past = "UPDATE matches SET alert_expires_at = clock_timestamp() - interval '1 ms'"
            _ = try await fixture.store.owner(by: .patient, past)
        }
        let answer = try await call.json("POST", Self.target, next, 202)
        #expect(answer["warnings"].raw == "[]")
        #expect(try await alertVersion(fixture) == "\(answer["version"].raw ?? "") true")
    }
}
