import APNsProtocol
import APNsSimulator
import Core
import Server
import Store
import TestSupport
import Testing

@Suite("Outcomes that are not a success", .database, .timeLimit(.minutes(5)))
struct OutcomeTests {
    /// Pages of 25, of which two thirds of the first one's pushes are put off; those to the tokens `heldUp` all are, once.
    private static func failingInPart(retryAfter: Int, heldUp: ClosedRange<Int>? = nil) -> EngineFixture.Options {
        let later = #"{"status":503,"reason":"ServiceUnavailable","retry_after":"\#(retryAfter)"}"#
        let rules = (heldUp.map(Array.init) ?? []).map { #""token":"\#(TestTokens.token($0))","times":1"# }
        var options = EngineFixture.Options()
        options.pageSize = 25
        options.faults =
            (rules + [#""route":"device","every":2,"times":14"#, #""route":"device","every":3,"times":6"#])
            .map { #"{"on":{\#($0)},"do":\#(later)}"# }
            .joined(separator: ",")
        options.faults = options.faults.map { #"{"rules":[\#($0)]}"# }
        return options
    }

    private func rule(_ number: Int, _ action: String) -> String {
        #"{"on":{"token":"\#(TestTokens.token(number))"},"do":\#(action)}"#
    }

    @Test("dead tokens are removed, refused ones set aside, later ones tried again; the rest is served")
    func mixed() async throws {
        var options = EngineFixture.Options()
        let later =
            #"{"on":{"token":"\#(TestTokens.token(3))","times":1},"do":{"status":503,"reason":"ServiceUnavailable","retry_after":"1"}}"#
        options.faults = """
            {"rules":[\(rule(1, #"{"status":410,"reason":"Unregistered","timestamp":4102444800000}"#)),
            \(rule(2, #"{"status":400,"reason":"BadDeviceToken"}"#)),\(later)]}
            """
        try await EngineFixture.run(options) { engine in
            try await engine.register(1...30)
            try await engine.event(1, importance: .key)
            try await engine.untilSettled()
            #expect(await engine.pushes().count == 28)
            #expect(try await engine.value("SELECT count(*) FROM activities") == "29")
            let refused = try await engine.value("SELECT activity FROM activities WHERE refused_reason IS NOT NULL")
            #expect(refused == "phone-2")
            let deliveries = try #require(try await engine.store.deliveries(of: engine.key, by: EngineFixture.soon))
            let sums = deliveries.sends.reduce(into: TurnCounts()) { $0 += $1.counts }
            #expect(sums.accepted == 28 && sums.removed == 1 && sums.refused == 1)
            #expect(sums.wanted == 30)
        }
    }

    @Test("what helps nobody is given up, counted once, and not sent again before the next version")
    func givenUp() async throws {
        var options = EngineFixture.Options()
        options.faults =
            #"{"rules":[{"on":{"route":"device","times":3},"do":{"status":400,"reason":"NeverHeardOf"}}]}"#
        try await EngineFixture.run(options) { engine in
            try await engine.register(1...30)
            try await engine.event(1, importance: .key)
            try await engine.untilSettled()
            let deliveries = try #require(try await engine.store.deliveries(of: engine.key, by: EngineFixture.soon))
            let sums = deliveries.sends.reduce(into: TurnCounts()) { $0 += $1.counts }
            #expect(sums.wanted == 30 && sums.accepted == 27 && sums.givenUp == 3 && sums.refused == 0)
        }
    }

    @Test("an outage lets the target back off: the cursor stays, and afterwards everybody gets the newest")
    func outage() async throws {
        var options = EngineFixture.Options()
        options.pageSize = 25
        options.faults = """
            {"rules":[{"on":{"route":"device","times":60},"do":{"status":503,"reason":"ServiceUnavailable",
            "retry_after":"1"}}]}
            """
        try await EngineFixture.run(options) { engine in
            try await engine.register(1...100)
            try await engine.event(1, importance: .key)
            try await engine.until("SELECT backoff > 0 FROM targets")
            #expect(try await engine.value("SELECT count(*) FROM stragglers") == "0")
            try await engine.untilSettled()
            #expect(await engine.pushes().count == 100)
        }
    }

    @Test("a page that fails in part is read again for those alone whom it did not reach")
    func partOfAPage() async throws {
        try await EngineFixture.run(Self.failingInPart(retryAfter: 1)) { engine in
            try await engine.register(1...100)
            try await engine.event(1, importance: .key, alert: "Goal!")
            try await engine.until("SELECT cardinality(passed) > 0 FROM targets")
            try await engine.untilSettled()
            let pushes = await engine.pushes()
            #expect(pushes.count == 100 && pushes.values.allSatisfy { $0.map(\.alert) == ["Goal!"] })
            let deliveries = try #require(try await engine.store.deliveries(of: engine.key, by: EngineFixture.soon))
            #expect(deliveries.sums.map(\.registered) == [100] && deliveries.sums.map(\.accepted) == [100])
            #expect(try await engine.store.sumsOff(limit: 10, by: EngineFixture.soon) == [])
            #expect(try await engine.value("SELECT cardinality(passed) FROM targets") == "0")

            // The next version is for all of them again.
            try await engine.event(2, importance: .key)
            try await engine.untilSettled()
            #expect(await engine.pushes().values.allSatisfy { $0.map(\.home) == [1, 2] })
        }
    }

    @Test("a newer version goes to all of a page that failed in part, its alert to those alone who have not had it")
    func newerThanPartOfAPage() async throws {
        try await EngineFixture.run(Self.failingInPart(retryAfter: 5)) { engine in
            try await engine.register(1...25)
            try await engine.event(1, importance: .key, alert: "Goal!")
            try await engine.until("SELECT cardinality(alerted) > 0 FROM targets")
            try await engine.event(2)
            try await engine.untilSettled()
            let pushes = await engine.pushes()
            #expect(pushes.count == 25 && pushes.values.allSatisfy { $0.last?.home == 2 })
            #expect(pushes.values.allSatisfy { $0.compactMap(\.alert) == ["Goal!"] })
            #expect(pushes.values.contains { $0.map(\.home) == [1, 2] })
            #expect(try await engine.store.sumsOff(limit: 10, by: EngineFixture.soon) == [])
        }
    }

    @Test("a phone of such a page that had the alert and changes its cadence is not alerted again")
    func movedFromPartOfAPage() async throws {
        try await EngineFixture.run(Self.failingInPart(retryAfter: 5)) { engine in
            try await engine.register(1...25)
            try await engine.event(1, importance: .key, alert: "Goal!")
            try await engine.until("SELECT cardinality(alerted) > 0 FROM targets")
            try await engine.register(1...25, frequent: false)
            try await engine.untilSettled()
            let pushes = await engine.pushes()
            #expect(pushes.count == 25 && pushes.values.allSatisfy { $0.last?.home == 1 })
            #expect(pushes.values.allSatisfy { $0.compactMap(\.alert) == ["Goal!"] })
            #expect(try await engine.store.sumsOff(limit: 10, by: EngineFixture.soon) == [])
        }
    }

    @Test("one that goes back to its first cadence, while the other is held up, is not alerted again either")
    func movedThereAndBack() async throws {
        try await EngineFixture.run(Self.failingInPart(retryAfter: 5, heldUp: 26...50)) { engine in
            try await engine.register(1...25)
            try await engine.register(26...50, frequent: false)
            try await engine.event(1, importance: .key, alert: "Goal!")
            try await engine.until(
                """
                SELECT bool_or(cardinality(alerted) > 0) AND bool_or(cadence = 'standard' AND reached_version = 0)
                FROM targets
                """
            )
            try await engine.register(1...25, frequent: false)
            try await engine.register(1...25)
            try await engine.untilSettled()
            let pushes = await engine.pushes()
            #expect(pushes.count == 50 && pushes.values.allSatisfy { $0.last?.home == 1 })
            #expect(pushes.values.allSatisfy { $0.compactMap(\.alert) == ["Goal!"] })
            #expect(try await engine.store.sumsOff(limit: 10, by: EngineFixture.soon) == [])
        }
    }

    @Test("a configuration error stops the app with a reason, and goes on when it is resumed")
    func stop() async throws {
        var options = EngineFixture.Options()
        options.faults = #"{"rules":[{"on":{"route":"device"},"do":{"status":400,"reason":"TopicDisallowed"}}]}"#
        let log = LogFixture()
        options.log = log.logger()
        try await EngineFixture.run(options) { engine in
            try await engine.register(1...5)
            try await engine.event(1, importance: .key)
            try await engine.until("SELECT tokens_stopped LIKE 'TopicDisallowed: %' FROM apps")
            let line = await log.line(with: " error test: an app's work was stopped;")
            #expect(line.contains("tenant=t_acme app=\(EngineFixture.bundle) environment=production work=tokens"))
            #expect(line.contains("reason=\"TopicDisallowed: "))
            try await engine.until("SELECT due_at IS NULL FROM targets")
            await engine.simulator.clearFaults()
            try await engine.resume()
            try await engine.untilSettled()
            #expect(await engine.pushes().count == 5)
        }
    }

    @Test("most tokens refused stops token sends of the app: our environment is wrong, not the phones")
    func wrongEnvironment() async throws {
        var options = EngineFixture.Options()
        options.pageSize = 60
        options.faults = #"{"rules":[{"on":{"route":"device"},"do":{"status":400,"reason":"BadDeviceToken"}}]}"#
        try await EngineFixture.run(options) { engine in
            try await engine.register(1...60)
            try await engine.event(1, importance: .key)
            try await engine.until("SELECT tokens_stopped LIKE '%environment%' FROM apps")
            try await engine.until("SELECT due_at IS NULL FROM targets")
            #expect(try await engine.value("SELECT count(*) FROM activities WHERE refused_at IS NOT NULL") != "0")

            await engine.simulator.clearFaults()
            try await engine.resume()
            try await engine.untilSettled()
            let pushes = await engine.pushes()
            #expect(pushes.count == 60 && pushes.values.allSatisfy { $0.map(\.home) == [1] })
            #expect(try await engine.value("SELECT count(*) FROM activities WHERE refused_reason IS NULL") == "60")
        }
    }

    @Test("a 410 from before the registration takes nothing away, and is not counted as removed")
    func oldDeath() async throws {
        var options = EngineFixture.Options()
        options.faults = """
            {"rules":[\(rule(1, #"{"status":410,"reason":"ExpiredToken","timestamp":1000000000000}"#)),
            \(rule(2, #"{"status":410,"reason":"ExpiredToken","timestamp":4102444800000}"#))]}
            """
        try await EngineFixture.run(options) { engine in
            try await engine.register(1...5)
            try await engine.event(1, importance: .key)
            try await engine.untilSettled()
            let deliveries = try #require(try await engine.store.deliveries(of: engine.key, by: EngineFixture.soon))
            let sums = deliveries.sends.reduce(into: TurnCounts()) { $0 += $1.counts }
            #expect(sums.wanted == 5 && sums.accepted == 3 && sums.removed == 1 && sums.givenUp == 1)
            #expect(
                try await engine.value("SELECT string_agg(activity, ' ' ORDER BY activity) FROM activities")
                    == "phone-1 phone-3 phone-4 phone-5"
            )
        }
    }

    @Test("a channel that APNs no longer knows is read, replaced, and served")
    func channelGone() async throws {
        var options = EngineFixture.Options()
        options.app = "UPDATE apps SET channels = 'single'"
        try await EngineFixture.run(options) { engine in
            try await engine.until("SELECT state = 'open' FROM channels")
            let first = try #require(try await engine.value("SELECT channel_id FROM channels"))
            await engine.simulator.setBroadcast(false, bundle: EngineFixture.bundle, in: .production)
            await engine.simulator.setBroadcast(true, bundle: EngineFixture.bundle, in: .production)
            try await engine.event(1, importance: .key)
            try await engine.until("SELECT state = 'open' AND channel_id <> '\(first)' FROM channels")
            try await engine.untilSettled()
            let second = try #require(try await engine.value("SELECT channel_id FROM channels"))
            #expect(await engine.pushes()[second]?.map(\.home) == [1])
        }
    }

    @Test("broadcast not enabled stops channel work and says what to switch on")
    func broadcastOff() async throws {
        var options = EngineFixture.Options()
        options.app = "UPDATE apps SET channels = 'none'"
        try await EngineFixture.run(options) { engine in
            await engine.simulator.setBroadcast(false, bundle: EngineFixture.bundle, in: .production)
            _ = try await engine.store.owner(by: EngineFixture.soon, "UPDATE apps SET channels = 'single'")
            _ = try await engine.store.owner(
                by: EngineFixture.soon,
                [Store.planChannels(tenant: engine.key.tenant)]
            )
            engine.bell.ring()
            try await engine.until("SELECT channels_stopped LIKE '%Broadcast%' FROM apps")
            #expect(try await engine.value("SELECT state FROM channels") == "pending")

            await engine.simulator.setBroadcast(true, bundle: EngineFixture.bundle, in: .production)
            try await engine.resume()
            try await engine.until("SELECT state = 'open' FROM channels")
        }
    }
}

@Suite("A dispatcher that is killed in a sweep", .database, .timeLimit(.minutes(5)))
struct TakeOverTests {
    @Test("its successor goes on from the cursor; few are sent twice, all end on the newest")
    func successor() async throws {
        var options = EngineFixture.Options()
        options.lease = .seconds(1)
        options.dispatches = false
        options.faults = #"{"rules":[{"on":{"route":"device"},"do":{"delay_ms":50}}]}"#
        try await EngineFixture.run(options) { engine in
            try await engine.register(1...500)
            try await engine.event(1, importance: .key, alert: "Goal!")
            let doomed = Task { await engine.dispatcher.run() }
            try await engine.until("SELECT cursor > 100 FROM targets")
            // Cancelling is as near to a kill as one process can come: nothing is given back.
            doomed.cancel()
            await doomed.value
            let successor = engine.successor(options)
            let running = Task { await successor.run() }
            try await engine.untilSettled()
            running.cancel()
            await running.value

            let pushes = await engine.pushes()
            #expect(pushes.count == 500)
            #expect(pushes.values.count { $0.count > 1 } <= 100)
            #expect(pushes.values.allSatisfy { Set($0.map(\.id)).count == 1 })
        }
    }
}
