import APNsSimulator
import Core
import Server
import Store
import TestSupport
import Testing

@Suite("The housekeeper", .database, .timeLimit(.minutes(5)))
struct HousekeeperTests {
    @Test("ends a match that has been silent for six hours after its kick-off, and one that is called off")
    func endsByItself() async throws {
        try await EngineFixture.run { engine in
            try await engine.register(1...2)
            _ = try await engine.store.owner(
                by: EngineFixture.soon,
                """
                UPDATE matches SET kickoff_at = now() - interval '7 hours', accepted_at = now() - interval '6 hours',
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
