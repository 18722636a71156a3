import APNsSimulator
import Core
import Glibc
import HTTP2
import Server
import Store
import TestSupport
import Testing

@Suite("From a feed's event to APNs", .database, .timeLimit(.minutes(5)))
struct ExactBytesTests {
    /// Numbers that a Double cannot hold, trailing zeros, an order that is not the alphabet's, a flag, an escape.
    private let state = #"{ "z":9007199254740993,"a":1.10 ,"n":12345678901234567890,"f":"🇪🇸\u00e9\/","b":[ 1e2 ] }"#

    @Test("digits, order, blanks and Unicode arrive unchanged, by channel and by token")
    func exact() async throws {
        var options = EngineFixture.Options()
        options.app = "UPDATE apps SET channels = 'single'"
        try await EngineFixture.run(options) { engine in
            let caller = try await Self.caller(engine)
            _ = try await caller.json("PUT", "/v1/matches/exact", Self.match(#"{"z":0}"#), 201)
            try await Self.channelOpens(caller)
            let activity =
                #"{"token":"\#(TestTokens.token(1))","environment":"production","frequent_pushes_enabled":true}"#
            _ = try await caller.json("PUT", "/v1/matches/exact/activities/a", activity, 200)
            let alert = #"{"title":"G\u00f6al 1.10","body":{"loc_key":"K","loc_args":["🇪🇸"]}}"#
            let event =
                #"{"id":"1","importance":"key","relevance_score":1.50,"aps_extra":{"x-new": 2.0},"alert":\#(alert),"content_state":\#(state)}"#
            _ = try await caller.json("POST", "/v1/matches/exact/events", event, 202)

            let pushes = try await Self.pushes(2, at: engine.simulator)
            #expect(Set(pushes.map { $0.path.hasPrefix("/3/device/") }) == [true, false])
            for push in pushes {
                let body = String(decoding: push.body, as: UTF8.self)
                #expect(body.contains(#""content-state":\#(state)"#))
                #expect(body.contains(#""alert":{"title":"G\u00f6al 1.10","body":{"loc-key":"K","loc-args":["🇪🇸"]}}"#))
                #expect(body.contains(#""relevance-score":1.50"#) && body.contains(#""x-new": 2.0"#))
                #expect(push.status == 200)
            }
        }
    }

    @Test("one byte over the limit is refused before any request")
    func overTheLimit() async throws {
        try await EngineFixture.run { engine in
            let caller = try await Self.caller(engine)
            _ = try await caller.json("PUT", "/v1/matches/exact", Self.match(#"{"t":""}"#), 201)
            let activity =
                #"{"token":"\#(TestTokens.token(1))","environment":"production","frequent_pushes_enabled":true}"#
            _ = try await caller.json("PUT", "/v1/matches/exact/activities/a", activity, 200)
            func event(_ id: String, _ letters: Int) -> String {
                #"{"id":"\#(id)","importance":"key","content_state":{"t":"\#(String(repeating: "a", count: letters))"}}"#
            }
            let probe = try await caller.json("POST", "/v1/matches/exact/events", event("probe", 4_000), 413)
            let size = try #require(probe["size"].raw.flatMap { Int($0) })
            let room = 4_000 - (size - 4_096)
            let over = try await caller.json("POST", "/v1/matches/exact/events", event("over", room + 1), 413)
            #expect(over["size"].raw == "4097" && over["limit"].raw == "4096" && over["route"].text == "token")
            #expect(await engine.simulator.requests(last: 10).isEmpty)
            // The biggest that fits, with the biggest alert, is taken by APNs.
            let alert = #","alert":{"title":"\#(String(repeating: "b", count: 993))","body":"b"}}"#
            let fits = event("fits", room).dropLast() + alert
            _ = try await caller.json("POST", "/v1/matches/exact/events", String(fits), 202)
            let push = try #require(try await Self.pushes(1, at: engine.simulator).first)
            #expect(push.status == 200 && push.body.count <= 4_096 && push.body.count > 4_080)
        }
    }

    private static func match(_ state: String) -> String {
        #"{"bundle":"\#(EngineFixture.bundle)","type":"Exact","kickoff_at":"\#(Timestamp(seconds: Int64(time(nil))))","content_state":\#(state)}"#
    }

    private static func caller(_ engine: EngineFixture) async throws -> APICaller {
        let made = try await engine.store.createKey(
            .admin,
            of: engine.key.tenant,
            expiresAt: nil,
            by: EngineFixture.soon
        )
        let bell = engine.bell
        return APICaller(api: API(store: engine.store, wake: { bell.ring() }), key: try #require(made).text)
    }

    private static func channelOpens(_ caller: APICaller) async throws {
        let deadline = EngineFixture.soon
        while await caller.send("GET", "/v1/matches/exact/channel?environment=production").status != 200 {
            try #require(.now < deadline, "the channel did not open")
        }
    }

    private static func pushes(_ count: Int, at simulator: APNsSimulator) async throws -> [SeenRequest] {
        let deadline = EngineFixture.soon
        while true {
            let pushes = await simulator.requests(last: 50).filter {
                $0.path.hasPrefix("/3/") || $0.path.hasPrefix("/4/")
            }
            if pushes.count >= count { return pushes }
            try #require(.now < deadline, "\(pushes.count) pushes of \(count)")
            await Task.yield()
        }
    }
}
