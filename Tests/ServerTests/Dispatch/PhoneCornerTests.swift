import APNs
import APNsProtocol
import Core
import PostgreSQL
import Server
import Store
import TestSupport
import Testing

/// The interleavings of a phone's registrations with a sweep, each brought about before the dispatcher runs, or while it
/// waits for APNs.
@Suite("A phone that registers while an event goes out", .database, .timeLimit(.minutes(5)))
struct PhoneCornerTests {
    /// When the phone's registration comes.
    enum Moment: CaseIterable {
        case beforeTheStamp
        case afterTheStamp
    }

    private static func options(_ faults: String? = nil) -> EngineFixture.Options {
        var options = EngineFixture.Options()
        options.dispatches = false
        options.faults = faults
        options.app = "UPDATE apps SET channels = 'none', frequent_gap_seconds = 0, standard_gap_seconds = 0"
        return options
    }

    /// Five phones, a goal with an alert, and `change` before or after the goal has its stamp; then all goes out.
    private func afterGoal(
        _ moment: Moment,
        _ change: @Sendable (EngineFixture) async throws -> Void,
        expect: @Sendable ([String: [SeenPush]]) async throws -> Void
    ) async throws {
        try await EngineFixture.run(Self.options()) { engine in
            try await engine.register(1...5)
            try await engine.event(1, importance: .key, alert: "Goal!")
            if moment == .afterTheStamp { try await engine.stamp() }
            try await change(engine)
            let running = Task { await engine.dispatcher.run() }
            try await engine.untilSettled()
            try await expect(await engine.pushes())
            #expect(try await engine.store.sumsOff(limit: 10, by: EngineFixture.soon) == [])
            running.cancel()
            await running.value
        }
    }

    @Test("a new phone gets the goal once", arguments: Moment.allCases)
    func registers(moment: Moment) async throws {
        try await afterGoal(moment) {
            try await $0.register(6...8)
        } expect: { pushes in
            #expect(pushes.count == 8 && pushes.values.allSatisfy { $0.map(\.home) == [1] })
            for number in 1...5 { #expect(pushes[TestTokens.token(number)]?.map(\.alert) == ["Goal!"]) }
        }
    }

    /// Stores phone 6 as a registration does, up to its commit.
    private static let insertion = PGStatement(
        """
        INSERT INTO activities (tenant_id, match_id, activity, environment, cadence, token)
        VALUES ('t_acme', 'final', 'phone-6', 'production', 'frequent', $1)
        """,
        [.text(TestTokens.token(6))]
    )

    /// What a registration does after its commit.
    private static let comparison = """
        SELECT count(*)::text FROM touchline_compare('t_acme', '{final}', '{1}', '{1}', '{phone-6}', '{NULL}', '{NULL}',
                                                     '{NULL}', '{NULL}', '{NULL}', 50000)
        """

    @Test("a phone whose registration is under way while the goal is committed and stamped gets it once")
    func commitsAfterTheStamp() async throws {
        try await EngineFixture.run(Self.options()) { engine in
            try await engine.register(1...5)
            try await engine.store.ownerTransaction(by: EngineFixture.soon) { connection in
                _ = try await connection.pipeline([Self.insertion], by: EngineFixture.soon)
                try await engine.event(1, importance: .key, alert: "Goal!")
                try await engine.stamp()
            }
            #expect(try await engine.value(Self.comparison) == "1")
            let running = Task { await engine.dispatcher.run() }
            try await engine.untilSettled()
            let pushes = await engine.pushes()
            #expect(pushes.count == 6 && pushes.values.allSatisfy { $0.map(\.home) == [1] })
            running.cancel()
            await running.value
        }
    }

    @Test("a phone whose registration compares versions only after the sweep has reached it gets the goal once")
    func comparesAfterTheSweep() async throws {
        try await EngineFixture.run(Self.options()) { engine in
            try await engine.register(1...5)
            _ = try await engine.store.owner(by: EngineFixture.soon, [Self.insertion])
            try await engine.event(1, importance: .key, alert: "Goal!")
            let running = Task { await engine.dispatcher.run() }
            try await engine.untilSettled()
            #expect(try await engine.value(Self.comparison) == "1")
            engine.bell.ring()
            try await engine.untilSettled()
            let pushes = await engine.pushes()
            #expect(pushes.count == 6 && pushes.values.allSatisfy { $0.map(\.home) == [1] })
            #expect(pushes.values.allSatisfy { $0.map(\.alert) == ["Goal!"] })
            #expect(try await engine.store.sumsOff(limit: 10, by: EngineFixture.soon) == [])
            running.cancel()
            await running.value
        }
    }

    @Test("a new phone that shows the version before has the alert too, once", arguments: Moment.allCases)
    func registersNaming(moment: Moment) async throws {
        try await afterGoal(moment) {
            try await $0.register(6...6, shown: 0)
        } expect: { pushes in
            #expect(pushes[TestTokens.token(6)]?.map(\.alert) == ["Goal!"])
        }
    }

    @Test("a phone that rotates its token gets goal and alert once, on the new one", arguments: Moment.allCases)
    func rotates(moment: Moment) async throws {
        try await afterGoal(moment) {
            try await $0.rotate(3, to: 103)
        } expect: { pushes in
            #expect(pushes[TestTokens.token(3)] == nil)
            #expect(pushes[TestTokens.token(103)]?.map(\.home) == [1])
            #expect(pushes[TestTokens.token(103)]?.map(\.alert) == ["Goal!"])
            #expect(pushes.count == 5)
        }
    }

    @Test("a phone that changes its cadence gets goal and alert once", arguments: Moment.allCases)
    func changesCadence(moment: Moment) async throws {
        try await afterGoal(moment) {
            try await $0.register(3...3, frequent: false)
        } expect: { pushes in
            #expect(pushes[TestTokens.token(3)]?.map(\.alert) == ["Goal!"])
            #expect(pushes.count == 5 && pushes.values.allSatisfy { $0.count == 1 })
        }
    }

    @Test("a phone that registers again as it was gets goal and alert once", arguments: Moment.allCases)
    func registersAgain(moment: Moment) async throws {
        try await afterGoal(moment) {
            try await $0.register(3...3)
        } expect: { pushes in
            #expect(pushes[TestTokens.token(3)]?.map(\.alert) == ["Goal!"])
        }
    }

    @Test("a phone that shows the goal already gets nothing from its stamp on")
    func showsIt() async throws {
        try await afterGoal(.afterTheStamp) {
            try await $0.register(6...6, shown: 1)
        } expect: { pushes in
            #expect(pushes[TestTokens.token(6)] == nil && pushes.count == 5)
        }
    }

    @Test("a phone that registers while pacing holds a version gets it at once, and not again with the sweep")
    func registersWhileHeld() async throws {
        var options = Self.options()
        options.app = "UPDATE apps SET channels = 'none', frequent_gap_seconds = 2"
        try await EngineFixture.run(options) { engine in
            let running = Task { await engine.dispatcher.run() }
            try await engine.register(1...5)
            try await engine.event(1)
            try await engine.untilSettled()
            try await engine.event(2)
            try await engine.until("SELECT held_at IS NOT NULL AND lease_until IS NULL FROM targets")
            try await engine.register(6...6)
            try await engine.until("SELECT NOT EXISTS (SELECT FROM stragglers)")
            #expect(try await engine.value("SELECT reached_version FROM targets") == "1")
            #expect(await engine.pushes()[TestTokens.token(6)]?.map(\.home) == [2])
            try await engine.untilSettled()
            let pushes = await engine.pushes()
            #expect(pushes[TestTokens.token(6)]?.map(\.home) == [2])
            for number in 1...5 { #expect(pushes[TestTokens.token(number)]?.map(\.home) == [1, 2]) }
            let deliveries = try #require(try await engine.store.deliveries(of: engine.key, by: EngineFixture.soon))
            let held = try #require(deliveries.sums.last)
            #expect(held.delayed == 5 && held.registered == 6 && held.accepted == 6 && held.addsUp)
            running.cancel()
            await running.value
        }
    }

    @Test("an event after the rotation: the newest state, and the alert once", arguments: Moment.allCases)
    func rotatesThenEvent(moment: Moment) async throws {
        try await afterGoal(moment) { engine in
            try await engine.rotate(3, to: 103)
            try await engine.event(2)
        } expect: { pushes in
            #expect(pushes.values.allSatisfy { $0.last?.home == 2 })
            for number in [1, 2, 103, 4, 5] {
                let alerts = pushes[TestTokens.token(number)]?.compactMap(\.alert)
                #expect(alerts == ["Goal!"], "\(number)")
            }
        }
    }

    /// Rotates phone 3 while the page that holds its old token waits for APNs.
    private func rotatingInFlight(
        _ third: String,
        expect: @Sendable ([String: [SeenPush]]) async throws -> Void
    ) async throws {
        let faults = """
            {"rules":[{"on":{"token":"\(TestTokens.token(3))"},"do":\(third)},
            {"on":{"route":"device","times":4},"do":{"delay_ms":1500}}]}
            """
        try await EngineFixture.run(Self.options(faults)) { engine in
            try await engine.register(1...5)
            try await engine.event(1, importance: .key, alert: "Goal!")
            let running = Task { await engine.dispatcher.run() }
            try await engine.untilPushing(5)
            try await engine.rotate(3, to: 103)
            try await engine.untilSettled()
            try await expect(await engine.pushes())
            #expect(try await engine.store.sumsOff(limit: 10, by: EngineFixture.soon) == [])
            // Whatever brought it, and wherever the phone goes next.
            let known = "SELECT (alerted_version = 1)::text FROM activities WHERE token = '\(TestTokens.token(103))'"
            #expect(try await engine.value(known) == "true")
            running.cancel()
            await running.value
        }
    }

    @Test("a rotation while the old token is being sent to: the state again, the alert not")
    func rotatesInFlight() async throws {
        try await rotatingInFlight(#"{"delay_ms":1500}"#) { pushes in
            #expect(pushes[TestTokens.token(3)]?.map(\.alert) == ["Goal!"])
            #expect(pushes[TestTokens.token(103)]?.map(\.home) == [1])
            #expect(pushes[TestTokens.token(103)]?.compactMap(\.alert) == [])
        }
    }

    @Test("a rotation while the old token turns out dead: the new one gets the alert, and is not removed")
    func rotatesFromDeadToken() async throws {
        let dead = #"{"status":410,"reason":"ExpiredToken","timestamp":4102444800000}"#
        try await rotatingInFlight(dead) { pushes in
            #expect(pushes[TestTokens.token(3)] == nil)
            #expect(pushes[TestTokens.token(103)]?.map(\.alert) == ["Goal!"])
        }
    }

    @Test("a rotation while the old token is told to come back in an hour: the new one has goal and alert at once")
    func rotatesFromDelayedToken() async throws {
        let later = #"{"status":429,"reason":"TooManyRequests","retry_after":"3600"}"#
        try await rotatingInFlight(later) { pushes in
            #expect(pushes[TestTokens.token(3)] == nil)
            #expect(pushes[TestTokens.token(103)]?.map(\.alert) == ["Goal!"])
        }
    }

    @Test("a token older than eight hours is removed instead of sent to, by a sweep and as a straggler")
    func expired() async throws {
        try await EngineFixture.run(Self.options()) { engine in
            try await engine.register(1...5)
            try await engine.event(1)
            try await engine.stamp()
            try await engine.register(6...7)
            _ = try await engine.store.owner(
                by: EngineFixture.soon,
                """
                UPDATE activities SET registered_at = now() - interval '8 hours 1 second'
                WHERE activity IN ('phone-2', 'phone-6')
                """
            )
            let running = Task { await engine.dispatcher.run() }
            try await engine.untilSettled()
            #expect(await engine.pushes().count == 5)
            #expect(try await engine.value("SELECT count(*) FROM activities") == "5")
            let deliveries = try #require(try await engine.store.deliveries(of: engine.key, by: EngineFixture.soon))
            #expect(deliveries.sums.map(\.removed) == [2], "\(deliveries.sums)")
            #expect(deliveries.sums.map(\.registered) == [7])
            running.cancel()
            await running.value
        }
    }
}
