import PostgreSQL
import Store
import TestSupport
import Testing

@Suite("A server that cannot do all that is needed", .database, .timeLimit(.minutes(5)))
struct ReadinessTests {
    private var soon: ContinuousClock.Instant { .patient }

    /// Changes a setting for the connections that are opened from now on.
    private func set(_ setting: String) async throws {
        let connection = try await TestDatabase.current.connect()
        let name = try await connection.query("SELECT current_database()", by: soon)[0].text(0)
        _ = try await connection.query("ALTER DATABASE \"\(name)\" SET \(setting)", by: soon)
        await connection.close()
    }

    @Test("is ready while it answers, takes writes and has room")
    func ready() async throws {
        try await TestDatabase.current.store().checkReadiness(by: soon)
    }

    @Test("is not ready while it is read-only; writes are unavailable, not failures, and go on when it is not any more")
    func readOnly() async throws {
        try await set("default_transaction_read_only = on")
        let store = TestDatabase.current.store()
        await #expect(throws: StoreError.unavailable("nothing can be written: default_transaction_read_only is on")) {
            try await store.checkReadiness(by: soon)
        }
        do {
            _ = try await store.createTenant(name: "acme", by: soon)
            Issue.record("a write on a standby")
        } catch {
            #expect(error.isUnavailable, "\(error)")
        }
        let connection = try await TestDatabase.current.connect()
        let name = try await connection.query("SELECT current_database()", by: soon)[0].text(0)
        _ = try await connection.query("SET default_transaction_read_only = off", by: soon)
        _ = try await connection.query("ALTER DATABASE \"\(name)\" RESET ALL", by: soon)
        await connection.close()
        // The refused write's connection is gone, and the next one finds a server that takes writes.
        _ = try await store.createTenant(name: "acme", by: soon)
    }

    @Test("is not ready when there is no room for a temporary file")
    func fullDisk() async throws {
        try await set("temp_file_limit = '64kB'")
        let store = TestDatabase.current.store()
        do {
            try await store.checkReadiness(by: soon)
            Issue.record("ready without room")
        } catch {
            #expect(error.isUnavailable, "\(error)")
        }
    }

    @Test("ends statements, waits for locks and open transactions of whoever has gone, on each pool")
    func timeouts() async throws {
        let store = TestDatabase.current.store()
        for pool in [store.database, store.api] {
            for name in ["statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"] {
                let value = try await pool.query(
                    "SELECT setting FROM pg_settings WHERE name = $1",
                    [.text(name)],
                    by: soon
                )
                #expect(Int(value[0].text(0)) ?? 0 > 0, "\(name)")
            }
        }
    }

    @Test("a lock that is not to be had within its time is unavailable, and the connection outlives it")
    func lockTimeout() async throws {
        let store = TestDatabase.current.store(limit: 1)
        let blocker = try await TestDatabase.current.connect()
        _ = try await blocker.pipeline(["BEGIN", "LOCK TABLE tenants"], by: soon)
        let backend = "SELECT pg_backend_pid()"
        let before = try await store.owner(by: soon, backend)[0].int(0)
        _ = try await store.owner(by: soon, "SELECT set_config('lock_timeout', '10ms', false)")
        await #expect(throws: StoreError.self) { try await store.owner(by: soon, "SELECT 1 FROM tenants") }
        do {
            _ = try await store.owner(by: soon, "SELECT 1 FROM tenants")
        } catch {
            #expect(error.isUnavailable, "\(error)")
        }
        #expect(try await store.owner(by: soon, backend)[0].int(0) == before)
        await blocker.close()
    }
}
