import Core
import Server
import Store
import TestSupport
import Testing

/// Phones ignore whatever comes behind an `end`: what one of them still lacks must come with it, or before.
@Suite("An end, and a phone that waits for an alert by itself", .database, .timeLimit(.minutes(5)))
struct EndCornerTests {
    private static let third = TestTokens.token(3)

    /// Twenty phones and a goal with an alert, of which the third is answered as `rules` say.
    private func afterGoal(
        _ rules: String,
        _ body: @Sendable (EngineFixture) async throws -> Void,
        expect: @Sendable ([SeenPush]) throws -> Void
    ) async throws {
        var options = EngineFixture.Options()
        options.dispatches = false
        options.faults = #"{"rules":[\#(rules)]}"#
        options.app = "UPDATE apps SET channels = 'none', frequent_gap_seconds = 0, standard_gap_seconds = 0"
        try await EngineFixture.run(options) { engine in
            try await engine.register(1...20)
            try await engine.event(1, importance: .key, alert: "Goal!")
            let running = Task { await engine.dispatcher.run() }
            try await body(engine)
            try await engine.untilSettled()
            let pushes = await engine.pushes()
            try expect(pushes[Self.third] ?? [])
            for number in [1, 2, 4, 20] {
                #expect(pushes[TestTokens.token(number)]?.map(\.event) == ["update", "end"], "\(number)")
                #expect(pushes[TestTokens.token(number)]?.compactMap(\.alert) == ["Goal!"], "\(number)")
            }
            #expect(try await engine.store.sumsOff(limit: 10, by: EngineFixture.soon) == [])
            running.cancel()
            await running.value
        }
    }

    private static func later(skip: Int = 0, after seconds: Int) -> String {
        """
        {"on":{"token":"\(third)","skip":\(skip),"times":1},
         "do":{"status":429,"reason":"TooManyRequests","retry_after":"\(seconds)"}}
        """
    }

    private static func slow(skip: Int) -> String {
        #"{"on":{"token":"\#(third)","skip":\#(skip),"times":1},"do":{"delay_ms":1500}}"#
    }

    private func end(_ engine: EngineFixture) async throws {
        _ = try await engine.value("SELECT touchline_end('t_acme', 'final')::text")
        engine.bell.ring()
        try await engine.until("SELECT bool_and(t.reached_version = 2) FROM targets t")
    }

    @Test("a phone that is tried again later gets the alert with its end, once")
    func triedAgain() async throws {
        try await afterGoal(Self.later(after: 3)) { engine in
            try await engine.until("SELECT count(*) = 1 FROM stragglers WHERE attempts = 1")
            try await end(engine)
            #expect(await engine.pushes()[Self.third] == nil)
        } expect: { pushes in
            #expect(pushes.map(\.event) == ["end"])
            #expect(pushes.map(\.alert) == ["Goal!"])
        }
    }

    @Test("a phone that is being sent the state before gets its end behind it, without the alert")
    func beingSent() async throws {
        try await afterGoal([Self.later(after: 1), Self.slow(skip: 1)].joined(separator: ",")) { engine in
            try await engine.until("SELECT count(*) = 1 FROM stragglers WHERE attempts = 1")
            try await engine.untilPushed(19)
            // Nothing but the straggler's push can be under way now.
            try await engine.untilPushing(1)
            try await end(engine)
        } expect: { pushes in
            #expect(pushes.map(\.event) == ["update", "end"])
            #expect(pushes.map(\.alert) == ["Goal!", nil])
        }
    }

    @Test("a phone whose push with the alert fails after the end has come gets the alert with its end, once")
    func failsBehindTheEnd() async throws {
        try await afterGoal([Self.slow(skip: 0), Self.later(after: 1)].joined(separator: ",")) { engine in
            try await engine.untilPushed(19)
            try await engine.untilPushing(1)
            _ = try await engine.value("SELECT touchline_end('t_acme', 'final')::text")
            try await engine.stamp()
            engine.bell.ring()
        } expect: { pushes in
            #expect(pushes.map(\.event) == ["end"])
            #expect(pushes.map(\.alert) == ["Goal!"])
        }
    }

    @Test("a phone that registers again while it is being sent to gets its end, and the alert once")
    func registersAgain() async throws {
        try await afterGoal(Self.slow(skip: 0)) { engine in
            try await engine.untilPushed(19)
            try await engine.register(3...3)
            _ = try await engine.value("SELECT touchline_end('t_acme', 'final')::text")
            engine.bell.ring()
        } expect: { pushes in
            #expect(pushes.last?.event == "end")
            #expect(pushes.compactMap(\.alert) == ["Goal!"])
            #expect(pushes.first?.alert == "Goal!")
        }
    }
}
