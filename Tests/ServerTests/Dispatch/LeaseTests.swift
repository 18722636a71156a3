import APNs
import APNsSimulator
import Core
import PostgreSQL
import Server
import Store
import TestSupport
import Testing

@Suite("A sweep whose process or database goes away", .database, .timeLimit(.minutes(5)))
struct LeaseTests {
    private func options() -> EngineFixture.Options {
        var options = EngineFixture.Options()
        options.app = "UPDATE apps SET channels = 'none', frequent_gap_seconds = 0"
        options.faults = #"{"rules":[{"on":{"route":"device"},"do":{"delay_ms":100}}]}"#
        return options
    }

    @Test("a drained process finishes what is in flight and gives the rest to another: no token is pushed twice")
    func drain() async throws {
        var options = options()
        options.dispatches = false
        try await EngineFixture.run(options) { engine in
            try await engine.register(1...400)
            try await engine.event(1, importance: .key, alert: "Goal!")
            let leaving = engine.successor(options)
            let running = Task { await leaving.run() }
            try await engine.until("SELECT cursor > 0 AND turn_start IS NOT NULL FROM targets")
            await leaving.drain(by: .now + .seconds(20))
            running.cancel()
            await running.value
            // Given back: nobody has to wait for the lease to run out.
            #expect(
                try await engine.value("SELECT (lease_until IS NULL AND due_at <= now())::text FROM targets") == "true"
            )
            #expect(try await engine.value("SELECT (reached_version = 0)::text FROM targets") == "true")

            try await engine.dispatching(options) { try await engine.untilSettled() }
            let pushes = await engine.pushes()
            #expect(pushes.count == 400)
            #expect(pushes.values.allSatisfy { $0.map(\.home) == [1] && $0.map(\.alert) == ["Goal!"] })
        }
    }

    @Test("connections to the database that are cut stop a sweep cleanly; it goes on from its cursor by itself")
    func connectionsCut() async throws {
        try await EngineFixture.run(options()) { engine in
            try await engine.register(1...400)
            try await engine.event(1, importance: .key)
            try await engine.until("SELECT cursor > 0 AND turn_start IS NOT NULL FROM targets")
            let connection = try await TestDatabase.current.connect()
            _ = try await connection.query(
                """
                SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                WHERE datname = current_database() AND pid <> pg_backend_pid()
                """,
                by: EngineFixture.soon
            )
            await connection.close()
            // The test's own looks meet connections that were cut, too.
            for _ in 0..<12 { _ = try? await engine.value("SELECT 1") }
            try await engine.untilSettled()
            let pushes = await engine.pushes()
            #expect(pushes.count == 400)
            #expect(pushes.values.allSatisfy { Set($0.map(\.home)) == [1] && Set($0.map(\.stamp)).count == 1 })
            // What was under way, and no more: a resend has the same id.
            #expect(pushes.values.count { $0.count > 1 } <= 80)
            #expect(pushes.values.allSatisfy { Set($0.map(\.id)).count == 1 })
        }
    }

    @Test("a holder that was stopped past its lease writes nothing more, and its successor ends the turn")
    func stopped() async throws {
        var options = options()
        options.dispatches = false
        try await EngineFixture.run(options) { engine in
            try await engine.register(1...400)
            try await engine.event(1, importance: .key)
            let stopping = try engine.holder(options, tokens: StoredProviderTokens(store: engine.store))
            let running = Task { await stopping.dispatcher.run() }
            try await engine.until("SELECT cursor > 0 AND turn_start IS NOT NULL FROM targets")
            _ = try await engine.store.owner(
                by: EngineFixture.soon,
                "UPDATE targets SET lease_until = now() - interval '1 s'"
            )
            try await engine.dispatching(options) { try await engine.untilSettled() }
            running.cancel()
            await running.value
            await stopping.pool.drain(by: .now + .seconds(2))
            #expect(try await engine.value("SELECT lease_owner FROM targets") == "successor")
            #expect(try await engine.value("SELECT count(*) FROM turns") == "1")
            #expect(try await engine.value("SELECT (accepted = 400 AND wanted = 400)::text FROM turns") == "true")
            #expect(await engine.pushes().count == 400)
        }
    }
}
