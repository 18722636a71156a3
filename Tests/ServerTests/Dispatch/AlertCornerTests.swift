import APNs
import Core
import Server
import Store
import TestSupport
import Testing

/// Phones ignore a state that is older than the one they show, with its alert: what carries an alert must arrive before
/// whatever is newer.
@Suite("An alert that is still under way as a newer version goes out", .database, .timeLimit(.minutes(5)))
struct AlertCornerTests {
    private static let third = TestTokens.token(3)

    /// Answers a phone's first push so much later, and takes it only then.
    private static func slow(_ number: Int, _ milliseconds: Int = 2000) -> String {
        #"{"on":{"token":"\#(TestTokens.token(number))","times":1},"do":{"delay_ms":\#(milliseconds)}}"#
    }

    /// Five phones, and a goal with an alert; `body` runs when all but the third have it.
    private func afterGoal(
        isStamped: Bool = false,
        _ change: @Sendable (EngineFixture) async throws -> Void = { _ in },
        _ body: @Sendable (EngineFixture) async throws -> Void
    ) async throws {
        var options = EngineFixture.Options()
        options.dispatches = false
        options.faults = #"{"rules":[\#(Self.slow(3))]}"#
        options.app = "UPDATE apps SET channels = 'none', frequent_gap_seconds = 0, standard_gap_seconds = 0"
        try await EngineFixture.run(options) { engine in
            try await engine.register(1...5)
            try await engine.event(1, importance: .key, alert: "Goal!")
            if isStamped { try await engine.stamp() }
            try await change(engine)
            let running = Task { await engine.dispatcher.run() }
            try await engine.untilPushed(4)
            try await body(engine)
            try await engine.untilSettled()
            for (token, pushes) in await engine.pushes() {
                #expect(pushes.map(\.home) == [1, 2], "\(token)")
                #expect(pushes.map(\.alert) == ["Goal!", nil], "\(token)")
            }
            #expect(try await engine.store.sumsOff(limit: 10, by: EngineFixture.soon) == [])
            running.cancel()
            await running.value
        }
    }

    @Test(
        "by itself: the newer version's sweep leaves the phone out, and it follows the alert",
        arguments: [true, false]
    )
    func byItself(isStamped: Bool) async throws {
        // If the goal has no stamp yet, the phone makes a shard that no sweep brings the goal to.
        try await afterGoal(isStamped: isStamped) { engine in
            try await engine.register(3...3, frequent: false)
        } _: { engine in
            try await engine.until("SELECT reached_version = 1 FROM targets WHERE cadence = 'frequent'")
            // Nothing but the straggler's push can be under way now; on a slow machine it has come already.
            let pause = WakeUp()
            while engine.pool.counts.inFlight == 0, await engine.pushes()[Self.third] == nil {
                await pause.wait(atMost: .milliseconds(2))
            }
            try await engine.event(2)
        }
    }

    @Test("with the sweep of the cadence that the phone has left: so does the sweep of the other")
    func fromBefore() async throws {
        try await afterGoal { engine in
            try await engine.register(3...3, frequent: false)
            try await engine.event(2)
        }
    }

    @Test("with the sweep of a cadence that the phone has left, and come back to: the alert does not come again")
    func thereAndBack() async throws {
        try await afterGoal { engine in
            try await engine.register(3...3, frequent: false)
            try await engine.register(3...3)
            try await engine.event(2)
        }
    }

    /// Five phones, a goal with an alert, and a sixth that registered before the goal's stamp and shows what was before: it waits
    /// as a straggler, but the sweep brings it the goal.
    private func withSixth(
        isSlow: Bool,
        _ body: @Sendable (EngineFixture) async throws -> Void
    ) async throws {
        var options = EngineFixture.Options()
        options.dispatches = false
        options.faults = isSlow ? #"{"rules":[\#(Self.slow(6))]}"# : nil
        options.app = "UPDATE apps SET channels = 'none', frequent_gap_seconds = 0"
        try await EngineFixture.run(options) { engine in
            try await engine.register(1...5)
            try await engine.event(1, importance: .key, alert: "Goal!")
            try await engine.register(6...6, shown: 0)
            // As if all that serves stragglers were busy.
            _ = try await engine.store.owner(
                by: EngineFixture.soon,
                "UPDATE stragglers SET due_at = now() + interval '1 hour'"
            )
            let running = Task { await engine.dispatcher.run() }
            try await body(engine)
            try await engine.untilSettled()
            #expect(try await engine.store.sumsOff(limit: 10, by: EngineFixture.soon) == [])
            running.cancel()
            await running.value
        }
    }

    @Test("with its sweep: who waited by itself already, and takes a new token, does not have it again")
    func rotatesAsStraggler() async throws {
        try await withSixth(isSlow: true) { engine in
            try await engine.untilPushed(5)
            try await engine.rotate(6, to: 106)
            try await engine.untilSettled()
            let pushes = await engine.pushes()
            #expect(pushes[TestTokens.token(6)]?.map(\.alert) == ["Goal!"])
            #expect(pushes[TestTokens.token(106)]?.map(\.home) == [1])
            #expect(pushes[TestTokens.token(106)]?.compactMap(\.alert) == [])
        }
    }

    @Test("and has come: who waited by itself already, and registers again, does not have it again")
    func registersAsStraggler() async throws {
        try await withSixth(isSlow: false) { engine in
            try await engine.until("SELECT reached_version = 1 FROM targets")
            try await engine.register(6...6)
            try await engine.untilSettled()
            let pushes = await engine.pushes()
            #expect(pushes[TestTokens.token(6)]?.compactMap(\.alert) == ["Goal!"])
            #expect(pushes[TestTokens.token(6)]?.first?.alert == "Goal!")
        }
    }

    @Test("with a page of its sweep: the next round waits for it where it comes to the same phones")
    func inRound() async throws {
        var options = EngineFixture.Options()
        options.dispatches = false
        // In the order of their rows, which is that of the activities, each page of ten has one of these; three pages are
        // under way at once.
        let numbers = (1...100).sorted { "phone-\($0)" < "phone-\($1)" }
        let slow = [Self.slow(numbers[0], 4000), Self.slow(numbers[10]), Self.slow(numbers[20])]
        options.faults = #"{"rules":[\#(slow.joined(separator: ","))]}"#
        options.app = "UPDATE apps SET channels = 'none', frequent_gap_seconds = 0"
        try await EngineFixture.run(options) { engine in
            try await engine.register(1...100)
            try await engine.event(1, importance: .key, alert: "Goal!")
            let running = Task { await engine.dispatcher.run() }
            try await engine.untilPushed(27)
            try await engine.event(2)
            try await engine.untilSettled()
            let pushes = await engine.pushes()
            let first = pushes[TestTokens.token(numbers[0])] ?? []
            #expect(first.map(\.home) == [1, 2] && first.map(\.alert) == ["Goal!", nil])
            #expect(pushes.count == 100)
            for (token, pushes) in pushes {
                #expect(pushes.map(\.home) == [1, 2] || pushes.map(\.home) == [2], "\(token)")
                #expect(pushes.first?.alert == "Goal!" && pushes.compactMap(\.alert).count == 1, "\(token)")
            }
            #expect(try await engine.store.sumsOff(limit: 10, by: EngineFixture.soon) == [])
            running.cancel()
            await running.value
        }
    }
}
