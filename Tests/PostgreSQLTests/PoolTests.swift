import EventLoop
import PostgreSQL
import TestSupport
import Testing

@Suite("A pool of connections", .emptyDatabase, .timeLimit(.minutes(5)))
struct PoolTests {
    private let deadline = ContinuousClock.now + .seconds(120)

    @Test("serves more callers than it has connections")
    func manyCallers() async throws {
        let pool = TestDatabase.current.pool(limit: 3)
        let processes = try await withThrowingTaskGroup(of: Int64.self) { group in
            for _ in 0..<200 {
                group.addTask { try await pool.query("SELECT pg_backend_pid()", by: deadline)[0].int(0) }
            }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(processes.count <= 3)
        #expect(pool.counts.leased == 0)
        #expect(pool.counts.waiting == 0)
        await pool.shutdown()
    }

    @Test("refuses at the deadline whoever waits for a connection")
    func waitEnds() async throws {
        let pool = TestDatabase.current.pool(limit: 1)
        let held = try await pool.lease(by: deadline)
        let error = await #expect(throws: PGError.self) { try await pool.lease(by: .now + .milliseconds(30)) }
        #expect(error?.kind == .busy)
        await pool.release(held)
        _ = try await pool.query("SELECT 1", by: deadline)
        await pool.shutdown()
    }

    @Test("rolls back what throws, and drops a connection left inside a transaction")
    func rollback() async throws {
        struct Stop: Error {}
        let pool = TestDatabase.current.pool(limit: 1)
        _ = try await pool.query("CREATE TABLE t (a int)", by: deadline)
        await #expect(throws: Stop.self) {
            try await pool.transaction(by: deadline) { connection in
                _ = try await connection.query("INSERT INTO t VALUES (1)", by: deadline)
                throw Stop()
            }
        }
        // A swallowed error must not turn COMMIT into a silent rollback.
        let error = await #expect(throws: PGError.self) {
            try await pool.transaction(by: deadline) { connection in
                _ = try? await connection.query("SELECT 1/0", by: deadline)
            }
        }
        #expect(error?.sqlState == "25P02")
        let before = try await pool.query("SELECT pg_backend_pid(), (SELECT count(*) FROM t)", by: deadline)[0]
        #expect(before.int(1) == 0)
        try await pool.withConnection(by: deadline) { connection throws(PGError) in
            _ = try await connection.query("BEGIN", by: deadline)
        }
        let after = try await pool.query("SELECT pg_backend_pid()", by: deadline)[0]
        #expect(after.int(0) != before.int(0))
        await pool.shutdown()
    }

    @Test("replaces a connection that the server has ended")
    func lostConnection() async throws {
        let pool = TestDatabase.current.pool(limit: 2)
        let watcher = try await TestDatabase.current.connect()
        let process = try await pool.query("SELECT pg_backend_pid()", by: deadline)[0].int(0)
        _ = try await watcher.query(
            "SELECT pg_terminate_backend($1::bigint::int, 10000)",
            [.int(process)],
            by: deadline
        )
        var next: Int64?
        while next == nil, .now < deadline {
            next = try? await pool.query("SELECT pg_backend_pid()", by: deadline)[0].int(0)
        }
        #expect(next != nil && next != process)
        await watcher.close()
        await pool.shutdown()
    }

    @Test("fails at once while nobody listens, whoever waits included")
    func serverAway() async throws {
        let pool = PGPool(
            PGPool.Configuration(conninfo: "host=/nonexistent", limit: 1),
            on: [TestDatabase.current.loop]
        )
        let start = ContinuousClock.now
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<20 {
                group.addTask {
                    let error = await #expect(throws: PGError.self) { try await pool.lease(by: deadline) }
                    #expect(error?.isUnavailable == true)
                }
            }
        }
        #expect(.now - start < .seconds(60))
        #expect(!pool.isReachable)
    }

    @Test("refuses everybody once it is shut down")
    func shutdown() async throws {
        let pool = TestDatabase.current.pool(limit: 1)
        let held = try await pool.lease(by: deadline)
        let waiting = Task { try await pool.lease(by: deadline) }
        while pool.counts.waiting == 0 { await Task.yield() }
        await pool.shutdown()
        let error = await #expect(throws: PGError.self) { try await waiting.value }
        #expect(error?.kind == .unavailable)
        await pool.release(held)
        #expect(held.health.state == .closed)
    }
}
