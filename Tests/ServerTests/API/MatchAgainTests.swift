import Core
import HTTP2
import PostgreSQL
import Server
import Store
import TestSupport
import Testing

@Suite("A match that is put again", .database, .timeLimit(.minutes(5)))
struct MatchAgainTests {
    private static let match = "/v1/matches/m1"

    private func end(_ fixture: APIFixture) async throws {
        let tenant = try #require(TenantID(validating: fixture.tenant))
        _ = try await fixture.store.end(MatchKey(tenant: tenant, match: MatchID(unchecked: "m1")), by: .patient)
    }

    private func body(_ more: String) -> String { APIFixture.matchBody.dropLast() + more + "}" }

    @Test("after its end is told that its events are ignored, and begins anew when it is renewed")
    func renewed() async throws {
        let fixture = try await APIFixture.make()
        let (call, feed) = (fixture.call(fixture.app), fixture.call(fixture.feed))
        let event = #"{"id":"1","sequence":5,"content_state":\#(APIFixture.state)}"#
        _ = try await feed.json("POST", "\(Self.match)/events", event, 202)
        try await end(fixture)
        let next = APIFixture.matchBody.replacing("2026-07-19", with: "2026-08-19")
        let again = try await call.json("PUT", Self.match, next, 200)
        #expect(again["status"].text == "ended" && again["warnings"].raw == #"["match_ended"]"#)
        #expect(again["hint"].text.contains(#""renew": true"#))
        try await call.problem("PUT", Self.match, body(#","status":"scheduled""#), .conflict, field: "status")

        let renewed = try await call.json("PUT", Self.match, body(#","renew":true"#), 200)
        #expect(renewed["status"].text == "scheduled" && renewed["version"].raw == "3")
        #expect(renewed["warnings"].raw == "[]" && renewed["hint"].value == nil)
        #expect(renewed["last_sequence"].raw == "null" && renewed["ends_at"].text.hasPrefix("2026-"))
        // Its feed begins anew too: ids and sequences are free.
        #expect(try await feed.json("POST", "\(Self.match)/events", event, 202)["version"].raw == "4")
        // Where it has not ended, that says nothing.
        #expect(try await call.json("PUT", Self.match, body(#","renew":true"#), 200)["version"].raw == "4")
        #expect(try await call.json("GET", Self.match, 200)["status"].text == "live")
    }

    @Test("to begin anew needs a first state, and waits for an end that is held")
    func notRenewed() async throws {
        let fixture = try await APIFixture.make()
        let (call, feed) = (fixture.call(fixture.app), fixture.call(fixture.feed))
        _ = try await feed.json("POST", "\(Self.match)/events", #"{"id":"end","kind":"end"}"#, 202)
        try await call.problem("PUT", Self.match, body(#","renew":true"#), .conflict, field: "renew")
        try await end(fixture)
        let stateless = """
            {"bundle":"\(APIFixture.bundle)","type":"ScoreAttributes","kickoff_at":"2026-08-19T19:00:00Z","renew":true}
            """
        try await call.problem("PUT", Self.match, stateless, .invalidField, field: "content_state")
        try await call.problem("PUT", Self.match, body(#","renew":1"#), .invalidField, field: "renew")
        #expect(try await call.json("GET", Self.match, 200)["status"].text == "ended")
    }

    @Test("while it is called off is told what lets it go on")
    func calledOff() async throws {
        let fixture = try await APIFixture.make()
        let call = fixture.call(fixture.app)
        let off = try await call.json("PUT", Self.match, body(#","status":"postponed""#), 200)
        #expect(off["warnings"].raw == "[]")
        try await end(fixture)
        let again = try await call.json("PUT", Self.match, APIFixture.matchBody, 200)
        #expect(again["warnings"].raw == #"["match_postponed"]"# && again["hint"].text.contains("scheduled"))
        let on = try await call.json("PUT", Self.match, body(#","status":"scheduled""#), 200)
        #expect(on["warnings"].raw == "[]" && on["status"].text == "scheduled")
    }

    @Test("with a kick-off that is long past has no channel made for it, and is told so")
    func longPast() async throws {
        let fixture = try await APIFixture.make()
        let call = fixture.call(fixture.app)
        // The clock is 2026-07-19T20:46:03Z, the silence 36 hours.
        for (match, kickoff, isPast) in [
            ("just", "2026-07-18T08:46:04Z", false), ("long", "2026-07-18T08:46:03Z", true),
            ("old", "2001-01-01T00:00:00Z", true),
        ] {
            let body = APIFixture.matchBody.replacing("2026-07-19T19:00:00Z", with: kickoff)
            let made = try await call.json("PUT", "/v1/matches/\(match)", body, 201)
            #expect(made["channels"].elements.isEmpty == isPast, "\(match)")
            #expect(made["warnings"].raw == (isPast ? #"["kickoff_long_past"]"# : "[]"))
            #expect((made["hint"].value != nil) == isPast)
        }
        // Its own silence says what is long.
        let own = APIFixture.matchBody.replacing("2026-07-19T19:00:00Z", with: "2026-07-15T00:00:00Z")
            .replacing(#""bundle""#, with: #""ends_after_silence":600000,"bundle""#)
        let made = try await call.json("PUT", "/v1/matches/cricket", own, 201)
        #expect(made["channels"].elements.count == 2 && made["ends_after_silence"].raw == "600000")
        // One that is under way keeps what it has.
        let event = #"{"id":"1","content_state":\#(APIFixture.state)}"#
        _ = try await fixture.call(fixture.feed).json("POST", "/v1/matches/just/events", event, 202)
        let old = APIFixture.matchBody.replacing("2026-07-19T19:00:00Z", with: "2026-07-01T19:00:00Z")
        let live = try await call.json("PUT", "/v1/matches/just", old, 200)
        #expect(live["channels"].elements.map { $0["state"].text } == ["pending", "pending"])
        #expect(live["warnings"].raw == "[]")
    }

    @Test(
        "with a kick-off that nobody set is refused",
        arguments: [
            "0001-01-01T00:00:00Z", "1970-01-01T00:00:00Z", "1999-12-31T23:59:59Z", "2200-01-01T00:00:00Z",
            "9999-12-31T23:59:59Z",
        ]
    )
    func unset(kickoff: String) async throws {
        let fixture = try await APIFixture.make()
        let body = APIFixture.matchBody.replacing("2026-07-19T19:00:00Z", with: kickoff)
        try await fixture.call(fixture.app).problem("PUT", Self.match, body, .invalidField, field: "kickoff_at")
    }

    @Test("shows when silence ends it, and warns of it before")
    func silence() async throws {
        let fixture = try await APIFixture.make()
        let call = fixture.call(fixture.admin)
        let app = "/v1/apps/\(APIFixture.bundle)"
        #expect(try await call.json("GET", "\(app)/production", 200)["ends_after_silence"].raw == "129600")
        for seconds in ["599", "2592001", "null,\"x\":1"] {
            let body = #"{"ends_after_silence":\#(seconds)}"#
            #expect(await call.send("PATCH", "\(app)/production", body).status == 422)
        }
        let created = "UPDATE matches SET accepted_at = '2026-07-19T19:30:00Z'"
        _ = try await fixture.store.owner(by: .patient, created)
        let shown = try await call.json("GET", Self.match, 200)
        #expect(shown["ends_after_silence"].raw == "null" && shown["ends_at"].text == "2026-07-21T07:30:00Z")
        #expect(shown["warnings"].value == nil)
        // The longest of its apps' holds; the match's own before that.
        _ = try await call.json("PATCH", "\(app)/sandbox", #"{"ends_after_silence":600}"#, 200)
        #expect(try await call.json("GET", Self.match, 200)["ends_at"].text == "2026-07-21T07:30:00Z")
        _ = try await call.json("PATCH", "\(app)/production", #"{"ends_after_silence":7200}"#, 200)
        let soon = try await call.json("GET", Self.match, 200)
        #expect(soon["ends_at"].text == "2026-07-19T21:30:00Z" && soon["warnings"].value == nil)
        let own = try await call.json("PUT", Self.match, body(#","ends_after_silence":4800"#), 200)
        #expect(own["ends_after_silence"].raw == "4800" && own["ends_at"].text == "2026-07-19T20:50:00Z")
        #expect(try await call.json("GET", Self.match, 200)["warnings"].raw == #"["ends_soon"]"#)
        // A put that does not name it takes it away.
        #expect(try await call.json("PUT", Self.match, APIFixture.matchBody, 200)["ends_after_silence"].raw == "null")
        try await end(fixture)
        #expect(try await call.json("GET", Self.match, 200)["ends_at"].raw == "null")
    }

    @Test("a shorter silence of the app has matches under way looked at, and no others")
    func shortened() async throws {
        let fixture = try await APIFixture.make()
        let call = fixture.call(fixture.admin)
        for (match, kickoff) in [("live", "now() - interval '1 hour'"), ("later", "now() + interval '1 day'")] {
            _ = try await call.json("PUT", "/v1/matches/\(match)", APIFixture.matchBody, 201)
            let plan = "UPDATE matches SET kickoff_at = \(kickoff), housekeep_at = now() + interval '30 hours'"
            _ = try await fixture.store.owner(by: .patient, "\(plan) WHERE match_id = '\(match)'")
        }
        func due() async throws -> String? {
            let sql = "SELECT string_agg(match_id, ' ') FROM matches WHERE housekeep_at <= now() AND match_id <> 'm1'"
            return try await fixture.store.owner(by: .patient, sql)[0].optionalText(0)
        }
        let app = "/v1/apps/\(APIFixture.bundle)/production"
        _ = try await call.json("PATCH", app, #"{"stale_after":600}"#, 200)
        #expect(try await due() == nil)
        _ = try await call.json("PATCH", app, #"{"ends_after_silence":600}"#, 200)
        #expect(try await due() == "live")
    }
}
