import APNs
import APNsSimulator
import Core
import EventLoop
import PostgreSQL
import Server
import Store
import TestSupport
import Testing

/// The corners of the design that decide whether it is right, each with the order of facts that makes it one.
@Suite("Corners", .database, .timeLimit(.minutes(5)))
struct CornerTests {
    private func options(_ channels: String = "none") -> EngineFixture.Options {
        var options = EngineFixture.Options()
        options.app = "UPDATE apps SET channels = '\(channels)', frequent_gap_seconds = 0"
        return options
    }

    @Test("stamps: two goals within one second reach every phone, the second with a higher stamp")
    func twoGoals() async throws {
        try await EngineFixture.run(options("single")) { engine in
            try await engine.register(1...25)
            try await engine.until("SELECT state = 'open' FROM channels")
            for home in 1...2 {
                try await engine.event(home, importance: .key, alert: "Goal \(home)!")
                try await engine.untilSettled()
            }
            let pushes = await engine.pushes()
            #expect(pushes.count == 26)
            for pushes in pushes.values {
                #expect(pushes.map(\.home) == [1, 2] && pushes.map(\.alert) == ["Goal 1!", "Goal 2!"])
                #expect(pushes[0].stamp < pushes[1].stamp)
            }
            #expect(Set(pushes.values.map { $0[1].stamp }).count == 1)
        }
    }

    @Test("a goal's alert that a routine event overtakes before it was sent goes out with that event's state, urgent")
    func overtakenByRoutine() async throws {
        var options = options("single")
        options.dispatches = false
        try await EngineFixture.run(options) { engine in
            try await engine.register(1...25)
            try await engine.until("SELECT state = 'open' FROM channels")
            try await engine.event(1, importance: .key, alert: "Goal!")
            try await engine.event(2)
            try await engine.dispatching(options) {
                try await engine.untilSettled()
            }
            let pushes = await engine.pushes()
            #expect(pushes.count == 26)
            #expect(pushes.values.allSatisfy { $0.map(\.home) == [2] })
            #expect(pushes.values.allSatisfy { $0[0].alert == "Goal!" && $0[0].priority == 10 })
        }
    }

    @Test("a goal's alert that a correction overtakes before it was sent is not sent")
    func overtakenByCorrection() async throws {
        var options = options("single")
        options.dispatches = false
        try await EngineFixture.run(options) { engine in
            try await engine.register(1...25)
            try await engine.until("SELECT state = 'open' FROM channels")
            try await engine.event(1, importance: .key, alert: "Goal!")
            try await engine.event(0, kind: .correction)
            try await engine.dispatching(options) {
                try await engine.untilSettled()
            }
            let pushes = await engine.pushes()
            #expect(pushes.count == 26)
            #expect(pushes.values.allSatisfy { $0.map(\.home) == [0] && $0[0].alert == nil })
        }
    }

    /// Fifty phones, a goal with an alert that APNs takes for the first page of 25 and for nobody else, so that its sweep
    /// stands still, and `overtaking`; then APNs takes everything.
    ///
    /// - Returns: What the first page was sent, and what the others were.
    private func inSweep(
        _ overtaking: @Sendable (EngineFixture) async throws -> Void
    ) async throws -> (first: [[SeenPush]], others: [[SeenPush]]) {
        // In the order of their rows: a batch is stored by activity.
        let numbers = (1...50).sorted { "phone-\($0)" < "phone-\($1)" }
        let rules = numbers[25...].map { number in
            #"{"on":{"token":"\#(TestTokens.token(number))"},"do":{"status":503,"reason":"ServiceUnavailable","#
                + #""retry_after":"3600"}}"#
        }
        var options = options()
        options.pageSize = 25
        options.faults = "{\"rules\":[\(rules.joined(separator: ","))]}"
        let result = ThreadLock<[String: [SeenPush]]>([:])
        try await EngineFixture.run(options) { engine in
            try await engine.register(1...50)
            try await engine.event(1, importance: .key, alert: "Goal!")
            try await engine.until(
                "SELECT backoff > 0 AND lease_until IS NULL AND cursor > 0 AND turn_start IS NOT NULL FROM targets"
            )
            #expect(await engine.pushes().count == 25)
            await engine.simulator.clearFaults()
            try await overtaking(engine)
            try await engine.untilSettled()
            let pushes = await engine.pushes()
            result.withLock { $0 = pushes }
        }
        let pushes = result.withLock { $0 }
        #expect(pushes.count == 50)
        let all = numbers.map { pushes[TestTokens.token($0)] ?? [] }
        return (Array(all[..<25]), Array(all[25...]))
    }

    @Test("a goal's alert that a correction overtakes in the middle of its sweep goes to nobody else")
    func correctionInSweep() async throws {
        let (first, others) = try await inSweep { try await $0.event(0, kind: .correction) }
        #expect(first.allSatisfy { $0.map(\.home) == [1, 0] && $0.map(\.alert) == ["Goal!", nil] })
        #expect(others.allSatisfy { $0.map(\.home) == [0] && $0.map(\.alert) == [nil] })
    }

    @Test("a goal's alert that a routine event overtakes in the middle of its sweep reaches each phone once")
    func routineInSweep() async throws {
        let (first, others) = try await inSweep { try await $0.event(2) }
        #expect(first.allSatisfy { $0.map(\.home) == [1, 2] && $0.map(\.alert) == ["Goal!", nil] })
        #expect(others.allSatisfy { $0.map(\.home) == [2] && $0.map(\.alert) == ["Goal!"] && $0[0].priority == 10 })
    }

    @Test("a second goal in the middle of the first one's sweep: its alert to all, the first one's to nobody else")
    func goalInSweep() async throws {
        let (first, others) = try await inSweep { try await $0.event(2, importance: .key, alert: "Another!") }
        #expect(first.allSatisfy { $0.map(\.home) == [1, 2] && $0.map(\.alert) == ["Goal!", "Another!"] })
        #expect(others.allSatisfy { $0.map(\.home) == [2] && $0.map(\.alert) == ["Another!"] })
        #expect(first.allSatisfy { $0[0].stamp < $0[1].stamp })
    }

    @Test(
        "a holder that stalls after stamping: its successor sends newer stamps, and what it sends late changes nothing"
    )
    func stallAfterStamping() async throws {
        var options = options()
        options.dispatches = false
        try await EngineFixture.run(options) { engine in
            try await engine.register(1...8)
            try await engine.event(1, importance: .key)
            // It waits for its provider token, with its version stamped and its page composed.
            let gate = GatedTokens(StoredProviderTokens(store: engine.store))
            let stalling = try engine.holder(options, tokens: gate)
            let stalled = Task { await stalling.dispatcher.run() }
            await gate.isReached.wait(atMost: .seconds(60))
            #expect(try await engine.value("SELECT stamped_version FROM matches") == "1")
            let stalledEpoch = try await engine.value("SELECT lease_epoch FROM targets")

            // As time would: the process has been stopped for longer than its lease.
            _ = try await engine.store.owner(
                by: EngineFixture.soon,
                "UPDATE targets SET lease_until = now() - interval '1 s'"
            )
            try await engine.event(2, importance: .key)
            try await engine.dispatching(options) {
                try await engine.untilSettled()
                #expect(await engine.shown(on: 1) == #"{"home":2}"#)
                gate.open()
                // The late pushes arrive: eight more.
                try await engine.untilPushed(16)
                try await engine.untilSettled()
            }
            stalled.cancel()
            await stalled.value
            await stalling.pool.drain(by: .now + .seconds(2))

            #expect(try await engine.value("SELECT lease_epoch FROM targets") != stalledEpoch)
            #expect(try await engine.value("SELECT reached_version FROM targets") == "2")
            for number in 1...8 { #expect(await engine.shown(on: number) == #"{"home":2}"#) }
            for pushes in await engine.pushes().values {
                #expect(pushes.map(\.home) == [2, 1])
                #expect(zip(pushes, pushes.dropFirst()).allSatisfy { $1.stamp < $0.stamp })
            }
        }
    }

    @Test("an end and a late goal: the goal folds into the end while that is held, and is ignored afterwards")
    func lateGoal() async throws {
        try await EngineFixture.run(options("single")) { engine in
            try await engine.register(1...3)
            try await engine.until("SELECT state = 'open' FROM channels")
            try await engine.event(1, kind: .end, endHold: .seconds(3600))
            try await engine.untilSettled()
            // The hold lasts: the state is shown at once, as a key update.
            for pushes in await engine.pushes().values {
                #expect(pushes.map(\.event) == ["update"] && pushes[0].priority == 10)
            }
            try await engine.event(2, importance: .key, alert: "Goal!")
            try await engine.untilSettled()
            _ = try await engine.store.owner(
                by: EngineFixture.soon,
                "UPDATE matches SET end_due_at = now(), housekeep_at = now()"
            )
            try await engine.until(
                "SELECT end_version IS NOT NULL AND NOT EXISTS (SELECT FROM activities) FROM matches"
            )
            let late = try await engine.answer(3)
            #expect(late == .ignored(version: 3, replayed: false))
            for pushes in await engine.pushes().values {
                #expect(pushes.map(\.event) == ["update", "update", "end"])
                #expect(pushes.map(\.home) == [1, 2, 2] && pushes.map(\.alert) == [nil, "Goal!", nil])
            }
        }
    }

    @Test("a policy-0 channel gets a goal once more after 30 s, and an end four times, with new stamps; tokens do not")
    func policyZero() async throws {
        var options = options("single")
        options.app += ", storage_policy = 0"
        try await EngineFixture.run(options) { engine in
            try await engine.register(1...2)
            try await engine.until("SELECT state = 'open' FROM channels")
            try await engine.event(1, importance: .key, alert: "Goal!")
            try await engine.untilSettled()
            let later = "now() + interval '25 seconds' AND now() + interval '31 seconds'"
            #expect(try await engine.value("SELECT (resend_at BETWEEN \(later))::text FROM matches") == "true")
            try await resend(engine, version: 2)

            try await engine.event(2, kind: .end)
            try await engine.until("SELECT NOT EXISTS (SELECT FROM activities)")
            for version in 5...8 { try await resend(engine, version: version) }
            #expect(try await engine.value("SELECT resend_at::text FROM matches") == nil)

            let pushes = await engine.pushes()
            let channel = try #require(pushes.values.first { $0.count > 3 })
            #expect(channel.map(\.home) == [1, 1, 2] + Array(repeating: 2, count: channel.count - 3))
            #expect(channel.map(\.alert).prefix(2) == ["Goal!", nil] && channel[1].priority == 5)
            #expect(channel.count { $0.event == "end" } == 5)
            #expect(zip(channel, channel.dropFirst()).allSatisfy { $0.stamp < $1.stamp })
            #expect(pushes.values.count { $0.count <= 3 && $0.last?.event == "end" } == 2)
        }
    }

    @Test("a phone that waits for a goal by itself has it, though the channels get it once more meanwhile")
    func waitsAcrossResend() async throws {
        var options = options("single")
        options.app += ", storage_policy = 0"
        options.faults = """
            {"rules":[{"on":{"token":"\(TestTokens.token(2))","times":1},
             "do":{"status":429,"reason":"TooManyRequests","retry_after":"3"}}]}
            """
        try await EngineFixture.run(options) { engine in
            try await engine.register(1...2)
            try await engine.until("SELECT state = 'open' FROM channels")
            try await engine.event(1, importance: .key)
            try await engine.until("SELECT count(*) = 1 FROM stragglers WHERE attempts = 1")
            try await resend(engine, version: 2)
            #expect(await engine.pushes()[TestTokens.token(2)]?.map(\.home) == [1])
            #expect(await engine.pushes()[TestTokens.token(1)]?.map(\.home) == [1])
            #expect(try await engine.store.sumsOff(limit: 10, by: EngineFixture.soon) == [])
        }
    }

    /// Lets the time of the next resend come.
    private func resend(_ engine: EngineFixture, version: Int) async throws {
        _ = try await engine.store.owner(
            by: EngineFixture.soon,
            "UPDATE matches SET resend_at = now(), housekeep_at = now() WHERE resend_at IS NOT NULL"
        )
        try await engine.until("SELECT version >= \(version) FROM matches")
        try await engine.untilSettled()
    }
}

/// Holds every provider token back until it is opened.
private final class GatedTokens: ProviderTokenSource {
    let isReached = WakeUp()
    private let inner: StoredProviderTokens
    private let gate: AsyncStream<Void>
    private let opening: AsyncStream<Void>.Continuation

    init(_ inner: StoredProviderTokens) {
        self.inner = inner
        (gate, opening) = AsyncStream.makeStream()
    }

    func open() { opening.finish() }

    func token(for credential: CredentialID) async throws(ProviderTokenError) -> String {
        isReached.signal()
        for await _ in gate {}
        return try await inner.token(for: credential)
    }

    func refused(_ token: String, for credential: CredentialID, as refusal: ProviderTokenRefusal) async {
        await inner.refused(token, for: credential, as: refusal)
    }
}
