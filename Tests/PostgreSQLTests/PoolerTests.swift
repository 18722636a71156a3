import EventLoop
@testable import PostgreSQL
import TestSupport
import Testing

@Suite("A database behind PgBouncer", .emptyDatabase, .timeLimit(.minutes(5)))
struct PoolerTests {
    private func look(_ conninfo: String) async throws -> SessionFacts {
        try await SessionFacts.look(at: conninfo, on: TestDatabase.current.loop, by: .patient)
    }

    @Test("is fine in session mode, and so is none: settings stay each client's own")
    func session() async throws {
        #expect(try await look(TestDatabase.current.conninfo).pooling == .none)
        try await PgBouncer.with(mode: "session") { bouncer in
            let facts = try await look(bouncer.conninfo)
            #expect(facts.pooling == .session)
            #expect(facts.findings().filter(\.isRefused).isEmpty)
            let pools = ["'one'", "'two'"].map { name in
                PGPool(
                    PGPool.Configuration(
                        conninfo: bouncer.conninfo,
                        setup: ["SET application_name = \(name)"],
                        limit: 2
                    ),
                    on: [TestDatabase.current.loop]
                )
            }
            for _ in 0..<10 {
                for (pool, name) in zip(pools, ["one", "two"]) {
                    let row = try await pool.query("SELECT current_setting('application_name')", by: .patient)[0]
                    #expect(row.text(0) == name)
                }
            }
            for pool in pools { await pool.shutdown() }
        }
    }

    @Test(
        "is refused by name in transaction and statement mode, whichever backend it takes next",
        arguments: ["transaction", "statement"],
        ["server_round_robin = 0", "server_round_robin = 1"]
    )
    func shared(mode: String, order: String) async throws {
        try await PgBouncer.with(mode: mode, [order, "default_pool_size = 3"]) { bouncer in
            let facts = try await look(bouncer.conninfo)
            #expect(facts.pooling == (mode == "transaction" ? .transaction : .statement))
            let finding = try #require(facts.findings().first)
            #expect(finding.kind == .pooler && finding.isRefused)
            #expect(finding.detail.contains("\(mode) mode") && finding.hint.contains("pool_mode = session"))
        }
    }

    @Test("is refused in transaction mode while others keep its backends busy")
    func contended() async throws {
        try await PgBouncer.with(mode: "transaction", ["default_pool_size = 3"]) { bouncer in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<4 {
                    // Clients without prepared statements, which this mode breaks.
                    let client = try await TestClient(bouncer.conninfo)
                    group.addTask {
                        while !Task.isCancelled { try await client.ask() }
                        await client.close()
                    }
                }
                for _ in 0..<3 { #expect(try await look(bouncer.conninfo).pooling == .transaction) }
                group.cancelAll()
                try await group.waitForAll()
            }
        }
    }

    @Test("that has no second backend is warned of")
    func full() async throws {
        try await PgBouncer.with(mode: "session", ["default_pool_size = 1", "query_wait_timeout = 1"]) { bouncer in
            let facts = try await look(bouncer.conninfo)
            #expect(facts.pooling == .unknown)
            #expect(facts.findings().contains { $0.kind == .unknownPooler && !$0.isRefused })
        }
    }

    @Test("that does not reset its sessions is found by the second client of one")
    func unreset() async throws {
        try await PgBouncer.with(mode: "session", ["default_pool_size = 1", "server_reset_query ="]) { bouncer in
            let loop = TestDatabase.current.loop
            let first = try await PGConnection.connect(bouncer.conninfo, on: loop, by: .patient)
            await first.close()
            let error = await #expect(throws: PGError.self) {
                try await PGConnection.connect(bouncer.conninfo, on: loop, by: .patient)
            }
            #expect(error?.kind == .configuration && error?.message.contains("pooler") == true)
        }
    }
}

/// Asks over and over by scripts, which prepare nothing.
private struct TestClient: Sendable {
    private let connection: PGConnection

    init(_ conninfo: String) async throws {
        connection = try await PGConnection.connect(conninfo, isBare: true, on: TestDatabase.current.loop, by: .patient)
    }

    func ask() async throws { try await connection.execute(script: "SELECT 1", by: .patient) }

    func close() async { await connection.close() }
}
