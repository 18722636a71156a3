import Core
import TestSupport
import Testing

@Suite("POST …/preview", .database, .timeLimit(.minutes(2)))
struct PreviewCallTests {
    private static let path = "/v1/matches/m1/preview"
    private static let goal = #"{"id":"g","importance":"key","content_state":{"home":1,"away":0,"clock":"7'"}}"#

    private func register(_ fixture: APIFixture) async throws {
        let token = String(repeating: "0a", count: 32)
        let body = #"{"token":"\#(token)","environment":"sandbox","frequent_pushes_enabled":true}"#
        _ = try await fixture.call(fixture.app).json("PUT", "/v1/matches/m1/activities/a", body, 200)
    }

    @Test("shows each push with its headers, its payload and its size")
    func shows() async throws {
        let fixture = try await APIFixture.make()
        try await register(fixture)
        let wakes = fixture.wakes.value
        for key in [fixture.admin, fixture.feed, fixture.read] {
            let answer = try await fixture.call(key).json("POST", Self.path, Self.goal, 200)
            #expect(answer["status"].text == "accepted" && answer["version"].raw == "1")
            #expect(answer["replayed"].raw == "false" && answer["warnings"].raw == "[]")
            // The channels are not open: nobody keeps house here.
            let pushes = answer["pushes"].elements
            #expect(pushes.map { $0["target"].text } == ["channel", "channel", "tokens"])
            #expect(pushes.map { $0["decision"].text } == ["channel_pending", "channel_pending", "send"])
            #expect(pushes[0]["headers"]["apns-channel-id"].value == nil)
            let push = pushes[2]
            #expect(push["path"].text == "/3/device/{token}" && push["recipients"].raw == "1")
            #expect(push["headers"]["apns-priority"].text == "10")
            #expect(push["headers"]["apns-topic"].text == "\(APIFixture.bundle).push-type.liveactivity")
            #expect(push["payload"].text.contains(#""content-state":{"home":1,"away":0,"clock":"7'"}"#))
            #expect(push["size"].raw == String(push["payload"].text.utf8.count) && push["limit"].raw == "4096")
        }
        #expect(fixture.wakes.value == wakes)
        #expect(try await fixture.call(fixture.admin).json("GET", "/v1/matches/m1", 200)["version"].raw == "0")
        #expect(try await fixture.call(fixture.admin).json("GET", "/v1/matches/m1/events", 200)["items"].raw == "[]")
    }

    @Test("refuses what posting it would refuse")
    func refuses() async throws {
        let fixture = try await APIFixture.make()
        let call = fixture.call(fixture.feed)
        let broken = #"{"id":"1","content_state":{"home":"1","away":0,"clock":""}}"#
        try await call.problem("POST", Self.path, broken, .contractViolation, field: "content_state.home")
        let unknown = #"{"id":"1","contnet_state":{}}"#
        try await call.problem("POST", Self.path, unknown, .unknownField, field: "contnet_state")
        let big = #"{"id":"1","content_state":{"home":1,"away":0,"clock":"\#(String(repeating: "x", count: 5_000))"}}"#
        try await call.problem("POST", Self.path, big, .payloadTooLarge, field: "content_state")
        try await call.problem("POST", "/v1/matches/m2/preview", Self.goal, .notFound, field: "match")
        try await fixture.call(fixture.app).problem("POST", Self.path, Self.goal, .roleNotAllowed)
        _ = try await call.json("POST", "/v1/matches/m1/events", Self.goal, 202)
        let other = Self.goal.replacing("7'", with: "8'")
        try await call.problem("POST", Self.path, other, .eventConflict, field: "id")
    }

    @Test("says what would not be sent, and why")
    func notSent() async throws {
        let fixture = try await APIFixture.make()
        try await register(fixture)
        let call = fixture.call(fixture.feed)
        _ = try await call.json("POST", "/v1/matches/m1/events", Self.goal, 202)
        let again = try await call.json("POST", Self.path, Self.goal, 200)
        #expect(again["replayed"].raw == "true" && again["pushes"].raw == "[]")

        func update(_ id: String, _ sequence: Int) -> String {
            #"{"id":"\#(id)","sequence":\#(sequence),"content_state":{"home":2,"away":0,"clock":"9'"}}"#
        }
        _ = try await call.json("POST", "/v1/matches/m1/events", update("5", 5), 202)
        let late = try await call.json("POST", Self.path, update("4", 4), 200)
        #expect(late["status"].text == "superseded" && late["pushes"].raw == "[]")

        let target = "/v1/apps/\(APIFixture.bundle)/sandbox"
        _ = try await fixture.call(fixture.admin).json("PATCH", target, #"{"paused":true}"#, 200)
        let paused = try await call.json("POST", Self.path, update("6", 6), 200)
        #expect(paused["warnings"].raw == #"["app_paused"]"#)
        let push = try #require(paused["pushes"].elements.last)
        #expect(push["decision"].text == "paused" && push["reason"].text == "the app is paused")
        #expect(push["at"].raw == "null")
    }
}
