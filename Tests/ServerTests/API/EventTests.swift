import Core
import HTTP2
import Server
import Store
import TestSupport
import Testing

@Suite("Events by the API", .database, .timeLimit(.minutes(5)))
struct EventTests {
    private func event(_ id: String, _ home: Int = 1, _ more: String = "") -> String {
        #"{"id":"\#(id)","content_state":{"home":\#(home),"away":0,"clock":"9'"}\#(more)}"#
    }

    @Test("an event is accepted once")
    func accepted() async throws {
        let fixture = try await APIFixture.make()
        let call = fixture.call(fixture.feed)
        let target = "/v1/matches/m1/events"
        let wakes = fixture.wakes.value
        let first = try await call.json("POST", target, event("e1"), 202)
        #expect(first.raw == #"{"status":"accepted","match":"m1","event":"e1","version":1,"warnings":[]}"#)
        #expect(first.response.fields["idempotent-replayed"] == nil)
        #expect(fixture.wakes.value == wakes + 1)
        let again = try await call.json("POST", target, event("e1"), 202)
        #expect(again.raw == first.raw && again.response.fields["idempotent-replayed"] == "true")
        // Blanks between the members are no other body.
        let spaced = event("e1").replacing(#","content_state""#, with: " ,\n \"content_state\"")
        #expect(await call.send("POST", target, spaced).fields["idempotent-replayed"] == "true")
        try await call.problem("POST", target, event("e1", 2), .eventConflict, field: "id")
        #expect(try await call.json("POST", target, event("e2", 2), 202)["version"].raw == "2")
    }

    @Test("what happened before the newest is kept, not sent; after the end nothing is")
    func superseded() async throws {
        let fixture = try await APIFixture.make()
        let call = fixture.call(fixture.feed)
        let target = "/v1/matches/m1/events"
        _ = try await call.json("POST", target, event("e1", 1, #","sequence":10"#), 202)
        let late = try await call.json("POST", target, event("e0", 0, #","sequence":9"#), 200)
        #expect(late["status"].text == "superseded")
        #expect(try await call.json("POST", target, event("e2", 2, #","sequence":10"#), 202)["version"].raw == "2")
        let correction = event("e3", 1, #","sequence":3,"kind":"correction""#)
        #expect(try await call.json("POST", target, correction, 202)["version"].raw == "3")
        #expect(
            try await call.json("GET", "/v1/matches/m1", 200)["content_state"].raw
                == #"{"home":1,"away":0,"clock":"9'"}"#
        )
        #expect(try await call.json("POST", target, #"{"id":"end","kind":"end"}"#, 202)["version"].raw == "4")
        let events = try await call.json("GET", "/v1/matches/m1/events?limit=2", 200)
        #expect(events["items"].elements.map { $0["event"].text } == ["e1", "e0"])
        let rest = try await call.json("GET", "/v1/matches/m1/events?after=\(events["next"].text)", 200)
        #expect(rest["items"].elements.map { $0["event"].text } == ["e2", "e3", "end"])
        #expect(rest["next"].raw == "null")
        let match = try #require(MatchID(validating: "m1"))
        let tenant = try #require(TenantID(validating: fixture.tenant))
        _ = try await fixture.store.end(MatchKey(tenant: tenant, match: match), by: .patient)
        let ignored = try await call.json("POST", target, event("e9"), 200)
        #expect(ignored["status"].text == "ignored" && ignored["reason"].text == "match_ended")
    }

    @Test("the content state is kept byte for byte within its braces")
    func exact() async throws {
        let fixture = try await APIFixture.make()
        let call = fixture.call(fixture.admin)
        let type = #"{"content_state":{"z":"int","a":"double","n":"double","f":"string"}}"#
        _ = try await call.json("PUT", "/v1/apps/\(APIFixture.bundle)/types/Exact", type, 200)
        let state = #"{ "z":9007199254740993,"a":1.10 ,"n":12345678901234567890,"f":"🇪🇸\u00e9\/" }"#
        let body = """
            {"bundle":"\(APIFixture.bundle)","type":"Exact","kickoff_at":"2026-07-19T19:00:00Z","content_state":\(state)}
            """
        #expect(try await call.json("PUT", "/v1/matches/x", body, 201)["content_state"].raw == state)
        let next = state.replacing("1.10", with: "2.50")
        _ = try await call.json("POST", "/v1/matches/x/events", #"{"id":"1","content_state":\#(next)}"#, 202)
        #expect(try await call.json("GET", "/v1/matches/x", 200)["content_state"].raw == next)
    }

    private static let wrongInputs: [(String, Problem.Code, String?)] = [
        ("{", .malformedJSON, nil), ("", .malformedJSON, nil), ("[]", .badRequest, nil),
        ("nul", .malformedJSON, nil),
        (
            #"{"id":"1","content_state":{"home":1,"home":2,"away":0,"clock":""}}"#, .duplicateKey,
            "content_state.home"
        ),
        (
            #"{"id":"1","content_state":{"home":1,"away":0,"clock":"\u0000"}}"#, .invalidUnicode,
            "content_state.clock"
        ),
        (
            #"{"id":"1","content_state":{"home":1,"away":0,"clock":"\ud800"}}"#, .invalidUnicode,
            "content_state.clock"
        ),
        (#"{"id":"1","content_state":{"home":"1","away":0,"clock":""}}"#, .contractViolation, "content_state.home"),
        (#"{"id":"1","content_state":{"away":0,"clock":""}}"#, .contractViolation, "content_state.home"),
        (#"{"id":"1","content_state":{},"score":1}"#, .unknownField, "score"),
        (#"{"content_state":{}}"#, .invalidField, "id"),
        (#"{"id":"1","occurred_at":"2026-07-19T21:46:03Z","content_state":{}}"#, .futureEvent, "occurred_at"),
        (#"{"id":"1","occurred_at":1784493963,"content_state":{}}"#, .stampUnit, "occurred_at"),
    ]

    @Test("wrong input is named, and nothing is stored")
    func wrong() async throws {
        let fixture = try await APIFixture.make()
        let call = fixture.call(fixture.feed)
        for (body, code, field) in Self.wrongInputs {
            try await call.problem("POST", "/v1/matches/m1/events", body, code, field: field)
        }
        #expect(try await call.json("GET", "/v1/matches/m1", 200)["version"].raw == "0")
        #expect(try await call.json("GET", "/v1/matches/m1/events", 200)["items"].elements.isEmpty)
    }

    @Test("one byte over a route's limit is refused with size and limit")
    func sizes() async throws {
        let fixture = try await APIFixture.make()
        let call = fixture.call(fixture.feed)
        func body(_ id: String, _ letters: Int) -> String {
            let clock = String(repeating: "a", count: letters)
            return #"{"id":"\#(id)","content_state":{"home":1,"away":0,"clock":"\#(clock)"}}"#
        }
        let probe = try await call.json("POST", "/v1/matches/m1/events", body("big", 5_000), 413)
        let size = try #require(probe["size"].raw.flatMap { Int($0) })
        #expect(probe["code"].text == "payload_too_large" && probe["field"].text == "content_state")
        // Attributes and content state are over their limit too, but by less.
        #expect(probe["limit"].raw == "4096" && probe["route"].text == "token" && size > 5_000)
        let close = try await call.json("POST", "/v1/matches/m1/events", body("close", 4_000), 413)
        #expect(close["route"].text == "token" && close["limit"].raw == "4096")
        let over = try #require(close["size"].raw.flatMap { Int($0) }) - 4_096
        _ = try await call.json("POST", "/v1/matches/m1/events", body("fits", 4_000 - over), 202)
        let one = try await call.json("POST", "/v1/matches/m1/events", body("one", 4_001 - over), 413)
        #expect(one["size"].raw == "4097")
        // Without tokens only the broadcast's limit counts.
        for environment in ["sandbox", "production"] {
            let app = "/v1/apps/\(APIFixture.bundle)/\(environment)"
            _ = try await fixture.call(fixture.admin).json("PATCH", app, #"{"tokens":false}"#, 200)
        }
        _ = try await call.json("POST", "/v1/matches/m1/events", body("wide", 3_900), 202)
        let huge = await call.send("POST", "/v1/matches/m1/events", body("huge", 1 << 20))
        #expect(huge.status == 413)
    }

    @Test("lines are answered each, in the order in which they came")
    func lines() async throws {
        let fixture = try await APIFixture.make()
        _ = try await fixture.call(fixture.admin).json("PUT", "/v1/matches/m2", APIFixture.matchBody, 201)
        let call = fixture.call(fixture.feed)
        func line(_ match: String, _ id: String, _ sequence: Int) -> String {
            #"{"match":"\#(match)","id":"\#(id)","sequence":\#(sequence),"content_state":{"home":\#(sequence),"away":0,"clock":""}}"#
        }
        let answers = try await call.lines(
            "/v1/events",
            [
                line("m1", "c", 3), line("m1", "a", 1), "", line("m2", "a", 1), "{oops", line("nowhere", "a", 1),
                line("m1", "b", 2), line("m1", "a", 1), line("m1", "a", 9), "  \r",
                #"{"match":"m1","id":"z","content_state":{"home":"x","away":0,"clock":""}}"#,
            ]
        )
        try #require(answers.count == 9)
        #expect(
            answers.map { $0["status"].text } == [
                "accepted", "accepted", "accepted", "refused", "refused", "accepted", "accepted", "refused", "refused",
            ]
        )
        #expect(answers.map { $0["version"].raw ?? "-" } == ["3", "1", "1", "-", "-", "2", "1", "-", "-"])
        #expect(answers[3]["code"].text == "malformed_json" && answers[3]["match"].raw == "null")
        #expect(answers[4]["code"].text == "not_found" && answers[4]["field"].text == "match")
        #expect(answers[6]["replayed"].raw == "true" && answers[7]["code"].text == "event_conflict")
        #expect(answers[8]["field"].text == "content_state.home" && answers[8]["event"].text == "z")
        #expect(
            try await call.json("GET", "/v1/matches/m1", 200)["content_state"].raw == #"{"home":3,"away":0,"clock":""}"#
        )
        // The same event posted alone is a repetition.
        let alone = line("m1", "b", 2).replacing(#""match":"m1","#, with: "")
        #expect(await call.send("POST", "/v1/matches/m1/events", alone).fields["idempotent-replayed"] == "true")
        #expect(try await call.lines("/v1/events", []).isEmpty)
    }

    @Test("more lines than a batch")
    func manyLines() async throws {
        let fixture = try await APIFixture.make()
        let lines = (1...1_200).map {
            #"{"match":"m1","id":"e\#($0)","sequence":\#($0),"content_state":{"home":\#($0),"away":0,"clock":""}}"#
        }
        let answers = try await fixture.call(fixture.feed).lines("/v1/events", lines)
        #expect(answers.count == 1_200 && answers.allSatisfy { $0["status"].text == "accepted" })
        #expect(answers.last?["version"].raw == "1200")
    }

    @Test("work of the app that stopped is said")
    func stopped() async throws {
        let fixture = try await APIFixture.make()
        _ = try await fixture.store.owner(
            by: .patient,
            "UPDATE apps SET tokens_stopped = 'x', channels_stopped = 'y' WHERE environment = 'production'"
        )
        let answer = try await fixture.call(fixture.feed).json("POST", "/v1/matches/m1/events", event("1"), 202)
        #expect(answer["warnings"].raw == #"["tokens_stopped","channels_stopped"]"#)
        let target = "/v1/apps/\(APIFixture.bundle)/production"
        let resumed = try await fixture.call(fixture.admin).json("PATCH", target, #"{"stopped":null}"#, 200)
        #expect(resumed["stopped"].raw == #"{"tokens":null,"channels":null}"#)
        let next = try await fixture.call(fixture.feed).json("POST", "/v1/matches/m1/events", event("2"), 202)
        #expect(next["warnings"].raw == "[]")
    }

    @Test("a pause is said")
    func paused() async throws {
        let fixture = try await APIFixture.make()
        let target = "/v1/apps/\(APIFixture.bundle)/production"
        _ = try await fixture.call(fixture.admin).json("PATCH", target, #"{"paused":true}"#, 200)
        let answer = try await fixture.call(fixture.feed).json("POST", "/v1/matches/m1/events", event("1"), 202)
        #expect(answer["warnings"].raw == #"["app_paused"]"#)
        let unknown = #"{"id":"2","content_state":{"home":1,"away":0,"clock":"","scroer":"x"}}"#
        let warned = try await fixture.call(fixture.feed).json("POST", "/v1/matches/m1/events", unknown, 202)
        #expect(warned["warnings"].raw == #"["app_paused","unknown_key:content_state.scroer"]"#)
    }
}
