import APNsSimulator
import Core
import PostgreSQL
import Server
import Store
import TestSupport
import Testing

@Suite("The housekeeper", .database, .timeLimit(.minutes(5)))
struct HousekeeperTests {
    @Test(
        "ends a match that has been silent, by its own setting, its app's longest, or 36 hours",
        arguments: [
            // The match's own, its app's two, the last event in minutes, and whether that is the end.
            (nil, nil, 36 * 60, true), (nil, nil, 36 * 60 - 1, false), (nil, 21_600, 360, true),
            (nil, 21_600, 359, false), (7_200, 21_600, 120, true), (172_800, 21_600, 2_879, false),
        ] as [(Int?, Int?, Int, Bool)]
    )
    func silence(own: Int?, app: Int?, minutes: Int, ends: Bool) async throws {
        var options = EngineFixture.Options()
        if let app { options.app = "UPDATE apps SET ends_after_silence = \(app)" }
        try await EngineFixture.run(options) { engine in
            _ = try await engine.store.owner(
                by: EngineFixture.soon,
                """
                UPDATE matches SET ends_after_silence = \(own.map(String.init) ?? "NULL"), status = 'live',
                    kickoff_at = now() - interval '3 days', accepted_at = now() - interval '\(minutes) minutes',
                    housekeep_at = now()
                """
            )
            engine.bell.ring()
            try await engine.until(
                "SELECT housekeep_at > now() + interval '30 seconds' OR status = 'ended' FROM matches"
            )
            #expect(try await engine.value("SELECT status FROM matches") == (ends ? "ended" : "live"))
            guard !ends else { return }
            // It is looked at again when the rest of the silence is over, since all but a sixth of it is.
            let rest = (own ?? app ?? 129_600) / 60 - minutes
            let next = "SELECT abs(extract(epoch FROM housekeep_at - now()) / 60 - \(rest)) < 0.5 FROM matches"
            #expect(try await engine.value(next) == "t")
        }
    }

    @Test("takes heartbeats and superseded events for a sign of life")
    func signsOfLife() async throws {
        try await EngineFixture.run { engine in
            try await engine.event(1)
            let silent =
                "UPDATE matches SET kickoff_at = now() - interval '3 days', accepted_at = now() - interval '37 hours'"
            _ = try await engine.store.owner(by: EngineFixture.soon, "\(silent), last_sequence = 57")
            _ = try await engine.store.accept(
                FeedEvent(id: EventID(unchecked: "late"), sequence: 2, contentState: RawJSON(text: "{}")),
                bodyDigest: [1],
                match: engine.key.match,
                tenant: engine.key.tenant,
                by: EngineFixture.soon
            )
            let look = "UPDATE matches SET housekeep_at = now()"
            let isKept = "SELECT status = 'live' AND housekeep_at > now() + interval '29 hours' FROM matches"
            _ = try await engine.store.owner(by: EngineFixture.soon, look)
            engine.bell.ring()
            try await engine.until(isKept)
            _ = try await engine.store.owner(by: EngineFixture.soon, ["DELETE FROM events", PGStatement(silent)])
            _ = try await engine.store.accept(
                FeedEvent(id: EventID(unchecked: "beat"), kind: .heartbeat),
                bodyDigest: [1],
                match: engine.key.match,
                tenant: engine.key.tenant,
                by: EngineFixture.soon
            )
            _ = try await engine.store.owner(by: EngineFixture.soon, look)
            engine.bell.ring()
            try await engine.until(isKept)
        }
    }

    @Test("ends a silent match on its phones")
    func endsByItself() async throws {
        try await EngineFixture.run { engine in
            try await engine.register(1...2)
            _ = try await engine.store.owner(
                by: EngineFixture.soon,
                """
                UPDATE matches SET kickoff_at = now() - interval '37 hours', accepted_at = now() - interval '36 hours',
                    housekeep_at = now()
                """
            )
            engine.bell.ring()
            try await engine.until("SELECT status = 'ended' FROM matches")
            try await engine.until("SELECT NOT EXISTS (SELECT FROM activities)")
            #expect(await engine.pushes().values.allSatisfy { $0.map(\.event) == ["end"] })
        }
    }

    @Test("a match that is called off ends without an event, and keeps its status")
    func calledOff() async throws {
        try await EngineFixture.run { engine in
            _ = try await engine.store.owner(
                by: EngineFixture.soon,
                "UPDATE matches SET status = 'postponed', housekeep_at = now()"
            )
            engine.bell.ring()
            try await engine.until("SELECT end_version = 1 AND status = 'postponed' FROM matches")
        }
    }

    @Test("creates a channel within its lead and not before, and deletes it when its linger is over")
    func channelLife() async throws {
        var options = EngineFixture.Options()
        options.app = "UPDATE apps SET channel_linger = 0, channel_lead = 3600"
        try await EngineFixture.run(options) { engine in
            try await engine.until("SELECT state = 'open' FROM channels")
            _ = try await engine.store.owner(
                by: EngineFixture.soon,
                """
                INSERT INTO matches (tenant_id, match_id, bundle, attributes_type, kickoff_at, content_state)
                SELECT tenant_id, 'tomorrow', bundle, attributes_type, now() + interval '1 day', '{}' FROM matches
                """
            )
            _ = try await engine.store.owner(by: EngineFixture.soon, [Store.planChannels(tenant: engine.key.tenant)])
            let next = try await engine.value(
                "SELECT next_at > now() + interval '22 hours' FROM channels WHERE match_id = 'tomorrow'"
            )
            #expect(next == "t")
            try await engine.event(1, kind: .end)
            try await engine.until("SELECT state = 'deleted' FROM channels WHERE match_id = 'final'")
            #expect(await engine.simulator.counts.requests["delete"] == 1)
            #expect(try await engine.value("SELECT state FROM channels WHERE match_id = 'tomorrow'") == "pending")
        }
    }

    @Test("a key event beyond the hour's allowance goes at priority 5, alert kept, and is counted so")
    func downgraded() async throws {
        var options = EngineFixture.Options()
        options.app = "UPDATE apps SET channels = 'none', frequent_urgent_per_hour = 1"
        try await EngineFixture.run(options) { engine in
            try await engine.register(1...2)
            for home in 1...2 {
                try await engine.event(home, importance: .key, alert: "Goal \(home)")
                try await engine.untilSettled()
            }
            for pushes in await engine.pushes().values {
                #expect(pushes.map(\.priority) == [10, 5])
                #expect(pushes.map(\.alert) == ["Goal 1", "Goal 2"])
            }
            let deliveries = try #require(try await engine.store.deliveries(of: engine.key, by: EngineFixture.soon))
            #expect(deliveries.sends.map(\.counts.downgraded) == [0, 2])
        }
    }
}
