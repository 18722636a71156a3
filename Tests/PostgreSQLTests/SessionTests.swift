import EventLoop
import PostgreSQL
import TestSupport
import Testing

@Suite("A database that is set up in its own way", .emptyDatabase, .timeLimit(.minutes(5)))
struct SessionTests {
    private var soon: ContinuousClock.Instant { .patient }

    private func look(_ conninfo: String = TestDatabase.current.conninfo) async throws -> SessionFacts {
        try await SessionFacts.look(at: conninfo, on: TestDatabase.current.loop, by: soon)
    }

    /// Changes it for the connections that are opened from now on.
    private func alter(_ change: String) async throws {
        let connection = try await TestDatabase.current.connect()
        let name = try await connection.query("SELECT current_database()", by: soon)[0].text(0)
        _ = try await connection.query("ALTER DATABASE \(name) \(change)", by: soon)
        await connection.close()
    }

    @Test("is refused in another encoding than UTF-8", arguments: ["LATIN1", "SQL_ASCII"])
    func encoding(_ encoding: String) async throws {
        let connection = try await TestDatabase.current.connect()
        let name = try await connection.query("SELECT current_database()", by: soon)[0].text(0) + "_other"
        let options = "TEMPLATE template0 ENCODING '\(encoding)' LC_COLLATE 'C' LC_CTYPE 'C'"
        _ = try await connection.query("CREATE DATABASE \(name) \(options)", by: soon)
        let conninfo = try Conninfo.changing(TestDatabase.current.conninfo, database: name)
        let error = await #expect(throws: PGError.self) {
            try await PGConnection.connect(conninfo, on: TestDatabase.current.loop, by: soon)
        }
        #expect(error?.kind == .configuration && error?.message.contains(encoding) == true)
        let findings = try await look(conninfo).findings()
        #expect(findings.first?.kind == .encoding && findings.first?.detail.contains(encoding) == true)
        _ = try await connection.query("DROP DATABASE \(name) WITH (FORCE)", by: soon)
        await connection.close()
    }

    @Test("waits for the disk where its own commits do not, and as it says where they do")
    func synchronousCommit() async throws {
        for (setting, used) in [("off", "on"), ("local", "local"), ("on", "on")] {
            try await alter("SET synchronous_commit = \(setting)")
            #expect(try await look().synchronousCommit == setting)
            let connection = try await TestDatabase.current.connect()
            let row = try await connection.query("SELECT current_setting('synchronous_commit')", by: soon)[0]
            #expect(row.text(0) == used)
            await connection.close()
        }
    }

    @Test("is said to be read-only")
    func readOnly() async throws {
        try await alter("SET default_transaction_read_only = on")
        let finding = try #require(try await look().findings().first)
        #expect(finding.kind == .readOnly && finding.hint.contains("RESET default_transaction_read_only"))
    }

    @Test("has a schema without one in its search path, and keeps the role's own when it takes another role")
    func searchPath() async throws {
        try await alter("SET search_path = ''")
        #expect(try await look().schema == "public")
        let connection = try await TestDatabase.current.connect()
        #expect(try await connection.query("SELECT current_schema()", by: soon)[0].text(0) == "public")
        await connection.close()
        try await alter("RESET search_path")
        try await TestRole.with { role in
            let admin = try await TestDatabase.current.connect()
            _ = try await admin.query("CREATE SCHEMA AUTHORIZATION \(role.name)", by: soon)
            await admin.close()
            let own = try await PGConnection.connect(
                role.conninfo,
                setup: ["SET ROLE none"],
                on: TestDatabase.current.loop,
                by: soon
            )
            #expect(try await own.query("SHOW search_path", by: soon)[0].text(0) == role.name)
            await own.close()
        }
    }

    @Test("lets more callers wait than it lets in", arguments: ["CONNECTION LIMIT 5", "CONNECTION LIMIT 1"])
    func connectionLimit(_ limit: String) async throws {
        try await TestRole.with(limit) { role in
            #expect(try await look(role.conninfo).roleConnections == (limit.hasSuffix("5") ? 5 : 1))
            let pool = PGPool(
                PGPool.Configuration(conninfo: role.conninfo, limit: 12, connectTimeout: .seconds(60)),
                on: [TestDatabase.current.loop]
            )
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<30 {
                    group.addTask { _ = try await pool.query("SELECT pg_sleep(0.02)", by: .patient) }
                }
                try await group.waitForAll()
            }
            #expect(pool.counts.leased == 0 && pool.counts.waiting == 0)
            #expect(pool.counts.idle <= (limit.hasSuffix("5") ? 5 : 1))
            #expect(pool.isReachable)
            await pool.shutdown()
        }
    }

    @Test("that lets nobody in keeps callers waiting, and lets all of them go on when it does")
    func fullForAWhile() async throws {
        try await TestRole.with("CONNECTION LIMIT 0") { role in
            let admin = try await TestDatabase.current.connect()
            let pool = PGPool(
                PGPool.Configuration(conninfo: role.conninfo, limit: 4, connectTimeout: .seconds(60)),
                on: [TestDatabase.current.loop]
            )
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<10 { group.addTask { _ = try await pool.query("SELECT 1", by: .patient) } }
                while pool.counts.waiting < 9 { await Task.yield() }
                // The one that tries does so for itself: it gives up, and another goes on in its place.
                await #expect(throws: PGError.self) {
                    try await pool.query("SELECT 1", by: .now + .milliseconds(20))
                }
                _ = try await admin.query("ALTER ROLE \(role.name) CONNECTION LIMIT 2", by: soon)
                try await group.waitForAll()
            }
            await pool.shutdown()
            await admin.close()
        }
    }
}
