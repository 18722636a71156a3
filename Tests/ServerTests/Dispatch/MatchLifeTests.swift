import APNsSimulator
import Core
import Server
import Store
import TestSupport
import Testing

@Suite("A match's life", .database, .timeLimit(.minutes(5)))
struct MatchLifeTests {
    private var options: EngineFixture.Options {
        var options = EngineFixture.Options()
        options.app = "UPDATE apps SET channels = 'single', ends_after_silence = 21600"
        return options
    }

    @Test("an end is withdrawn while it is held, and not after; then the match goes on, and ends by another event")
    func withdrawnEnd() async throws {
        try await EngineFixture.run(options) { engine in
            let admin = try await engine.admin()
            try await engine.register(1...3)
            try await engine.until("SELECT state = 'open' FROM channels")
            try await admin.problem("DELETE", "/v1/matches/final/end", .conflict, field: "match")
            try await engine.event(1, kind: .end, endHold: .seconds(3600))
            try await engine.untilSettled()
            let shown = try await admin.json("DELETE", "/v1/matches/final/end", 200)
            #expect(shown["status"].text == "live")
            try await admin.problem("DELETE", "/v1/matches/final/end", .conflict, field: "match")
            // As long as the hold would have lasted, and longer.
            try await engine.pass("2 hours")
            engine.bell.ring()
            try await engine.event(2, importance: .key)
            try await engine.untilSettled()
            #expect(try await engine.value("SELECT end_version IS NULL AND end_due_at IS NULL FROM matches") == "t")

            try await engine.event(3, kind: .end)
            try await engine.until("SELECT end_version IS NOT NULL FROM matches")
            try await engine.untilSettled()
            try await admin.problem("DELETE", "/v1/matches/final/end", .conflict, field: "match")
            for pushes in await engine.pushes().values {
                #expect(pushes.filter { $0.event == "end" }.map(\.home) == [3])
                #expect(pushes.last?.event == "end")
            }
        }
    }

    @Test("a match of nine hours keeps its channel and its life; its tokens expire after eight")
    func longMatch() async throws {
        try await EngineFixture.run(options) { engine in
            // As a put does: somebody looks at it when it may be over.
            _ = try await engine.store.owner(by: EngineFixture.soon, "UPDATE matches SET housekeep_at = now()")
            engine.bell.ring()
            try await engine.register(1...4)
            try await engine.until("SELECT state = 'open' FROM channels")
            let channel = try #require(try await engine.value("SELECT channel_id FROM channels"))
            for home in 1...3 {
                try await engine.event(home, importance: .key)
                try await engine.untilSettled()
                if home < 3 { try await engine.pass("270 minutes") }
            }
            #expect(try await engine.value("SELECT status FROM matches") == "live")
            let pushes = await engine.pushes()
            #expect(pushes[channel]?.map(\.home) == [1, 2, 3])
            #expect((1...4).allSatisfy { pushes[TestTokens.token($0)]?.map(\.home) == [1, 2] })
            #expect(try await engine.value("SELECT count(*)::text FROM activities") == "0")
            // Nine hours in, a phone that has started its card anew is served again.
            try await engine.register(5...5, shown: 0)
            try await engine.untilSettled()
            #expect(await engine.pushes()[TestTokens.token(5)]?.map(\.home) == [3])
            // Nobody ends it: six silent hours later it ends by itself.
            try await engine.pass("6 hours")
            engine.bell.ring()
            try await engine.until("SELECT status = 'ended' FROM matches")
            try await engine.until("SELECT next_at > now() + interval '3 hours' FROM channels")
            #expect(await engine.pushes()[channel]?.last?.event == "end")
        }
    }
}
