import Core
import HTTP2
import PostgreSQL
import Store
import TestSupport
import Testing

@Suite("Devices by the API", .database, .timeLimit(.minutes(2)))
struct DeviceTests {
    private static let token = String(repeating: "80ab", count: 16)

    private func row(_ fixture: APIFixture) async throws -> String? {
        try await fixture.store.owner(
            by: .patient,
            """
            SELECT concat_ws(' ', device, bundle, environment, coalesce(left(push_to_start_token, 4), 'none'),
                supports_channels, frequent, topics, showing) FROM devices
            """
        ).first?.text(0)
    }

    @Test("are put, changed by what is named, and forgotten; what is absent stays, null clears a token")
    func life() async throws {
        let fixture = try await APIFixture.make()
        let call = fixture.call(fixture.app)
        try await call.problem("PATCH", "/v1/devices/d1", #"{"topics":[]}"#, .notFound, field: "device")
        try await call.problem("PUT", "/v1/devices/d1", #"{"topics":["team:a"]}"#, .invalidField, field: "environment")
        let body = """
            {"push_to_start_token":"\(Self.token)","environment":"sandbox","supports_channels":true,
             "frequent_pushes_enabled":true,"topics":["team:a","competition:wc-2026"],"showing":["m1"]}
            """
        let answer = try await call.json("PUT", "/v1/devices/d1", body, 200)
        #expect(answer.raw == #"{"device":"d1","status":"stored"}"#)
        let stored = try await row(fixture)
        #expect(stored == "d1 \(APIFixture.bundle) sandbox 80ab t t {team:a,competition:wc-2026} {m1}")
        _ = try await call.json("PATCH", "/v1/devices/d1", #"{"topics":["match:m1"]}"#, 200)
        #expect(try await row(fixture) == "d1 \(APIFixture.bundle) sandbox 80ab t t {match:m1} {m1}")
        _ = try await call.json("PATCH", "/v1/devices/d1", #"{"push_to_start_token":null,"showing":[]}"#, 200)
        #expect(try await row(fixture) == "d1 \(APIFixture.bundle) sandbox none t t {match:m1} {}")
        #expect(await call.send("DELETE", "/v1/devices/d1").status == 204)
        try await call.problem("DELETE", "/v1/devices/d1", .notFound, field: "device")
    }

    @Test("a token is one phone's: it goes with the id that reported it last")
    func oneToken() async throws {
        let fixture = try await APIFixture.make()
        let call = fixture.call(fixture.app)
        func put(_ device: String, _ environment: String = "sandbox") async throws {
            let body = #"{"push_to_start_token":"\#(Self.token)","environment":"\#(environment)"}"#
            _ = try await call.json("PUT", "/v1/devices/\(device)", body, 200)
        }
        for device in ["b", "a", "c", "a"] { try await put(device) }
        try await put("other", "production")
        let items = try await call.json("GET", "/v1/devices", 200)["items"].elements
        #expect(items.map { $0["device"].text } == ["a", "b", "c", "other"])
        #expect(items.map { $0["has_token"].raw } == ["true", "false", "false", "true"])
    }

    @Test("are refused with the field: an unknown one, a bad token, a topic that is none, an app that is not there")
    func refusals() async throws {
        let fixture = try await APIFixture.make()
        let call = fixture.call(fixture.admin)
        for (body, code, field) in [
            (#"{"environment":"sandbox","colour":1}"#, Problem.Code.unknownField, "colour"),
            (#"{"environment":"sandbox","push_to_start_token":"xyz"}"#, .invalidField, "push_to_start_token"),
            (#"{"environment":"sandbox","topics":["ok",7]}"#, .invalidField, "topics[1]"),
            (#"{"environment":"sandbox","bundle":"com.example.none"}"#, .invalidField, "environment"),
            (#"{"environment":"mars"}"#, .invalidField, "environment"),
        ] {
            try await call.problem("PUT", "/v1/devices/d1", body, code, field: field)
        }
        try await fixture.call(fixture.feed).problem("PUT", "/v1/devices/d1", "{}", .roleNotAllowed)
    }

    @Test("come in bulk, a line each, and each has its answer in order")
    func lines() async throws {
        let fixture = try await APIFixture.make()
        var lines = (0..<2_500).map { number in
            #"{"device":"d\#(number)","environment":"production","push_to_start_token":"\#(TestTokens.token(number))","topics":["team:a"]}"#
        }
        lines[7] = #"{"device":"d7","environment":"production","push_to_start_token":7}"#
        lines[9] = "{"
        let response = await fixture.call(fixture.app).send("POST", "/v1/devices", lines.joined(separator: "\n"))
        let answers = String(decoding: response.body, as: UTF8.self).split(separator: "\n")
        #expect(response.status == 200 && answers.count == 2_500)
        #expect(answers[7].contains(#""code":"invalid_field""#) && answers[7].contains("push_to_start_token"))
        #expect(answers[9].contains(#""code":"malformed_json""#))
        #expect(answers.filter { $0.contains(#""status":"stored""#) }.count == 2_498)
        let count = try await fixture.store.owner(by: .patient, "SELECT count(*) FROM devices").first?.int(0)
        #expect(count == 2_498)
    }

    @Test("a match whose start would not fit into a push is refused")
    func tooLarge() async throws {
        let fixture = try await APIFixture.make()
        func body(_ length: Int) -> String {
            let (text, alert) = (String(repeating: "x", count: length), #"{"title":"Kick-off","body":"Soon"}"#)
            return """
                {"bundle":"\(APIFixture.bundle)","type":"Other","kickoff_at":"2026-07-19T19:00:00Z",\
                "content_state":{"home":0},"attributes":{"text":"\(text)"},"start":{"alert":\(alert)}}
                """
        }
        let call = fixture.call(fixture.admin)
        _ = try await call.json("PUT", "/v1/matches/m2", body(3_000), 201)
        try await call.problem("PUT", "/v1/matches/m3", body(3_800), .payloadTooLarge, field: "start")
    }

    @Test("a match whose start phones could not decode is refused, with the start or when it is started")
    func attributesMissing() async throws {
        let fixture = try await APIFixture.make()
        let call = fixture.call(fixture.admin)
        let contract = #"{"content_state":{"home":"int"},"attributes":{"cup":"string"}}"#
        _ = try await call.json("PUT", "/v1/apps/\(APIFixture.bundle)/types/Cup", contract, 200)
        func body(_ more: String) -> String {
            """
            {"bundle":"\(APIFixture.bundle)","type":"Cup","kickoff_at":"2026-07-19T19:00:00Z","content_state":{"home":0}\(more)}
            """
        }
        let start = #""start":{"alert":{"title":"Kick-off","body":"Soon"}}"#
        try await call.problem("PUT", "/v1/matches/c", body(",\(start)"), .contractViolation, field: "attributes.cup")
        _ = try await call.json("PUT", "/v1/matches/c", body(""), 201)
        let alert = #"{"alert":{"title":"Kick-off","body":"Soon"}}"#
        try await call.problem("POST", "/v1/matches/c/starts", alert, .contractViolation, field: "attributes.cup")
        for (empty, field) in [(#"{}"#, "alert.title"), (#"{"title":"Kick-off","body":""}"#, "alert.body")] {
            let body = #"{"alert":\#(empty)}"#
            try await call.problem("POST", "/v1/matches/c/starts", body, .invalidField, field: field)
        }
        _ = try await call.json("PUT", "/v1/matches/c", body(#","attributes":{"cup":"World"},\#(start)"#), 200)
        _ = try await call.json("POST", "/v1/matches/c/starts", alert, 200)
    }

    @Test("another tenant's are not found, and not started")
    func tenants() async throws {
        let fixture = try await APIFixture.make()
        let owner = fixture.call(fixture.operatorKey)
        let other = try await owner.json("POST", "/v1/tenants", #"{"name":"other"}"#, 201)["tenant"].text
        let secret = try await owner.json("POST", "/v1/tenants/\(other)/keys", #"{"role":"app"}"#, 201)["secret"].text
        let body = #"{"environment":"sandbox"}"#
        _ = try await fixture.call(fixture.app).json("PUT", "/v1/devices/d1", body, 200)
        let stranger = fixture.call(secret)
        try await stranger.problem("PATCH", "/v1/devices/d1", #"{"topics":[]}"#, .notFound, field: "device")
        try await stranger.problem("DELETE", "/v1/devices/d1", .notFound, field: "device")
        try await stranger.problem("GET", "/v1/matches/m1/starts", .notFound, field: "match")
    }
}
