internal import PostgreSQL
internal import Testing

/// A role of the running test's own, which is nobody's superuser and owns nothing.
package struct TestRole: Sendable {
    package let name: String
    /// For libpq: the test's database as this role.
    package let conninfo: String

    /// Runs `body` with one, made with `options` (`CONNECTION LIMIT 5`); it goes with what it owns.
    package static func with(_ options: String = "", _ body: (TestRole) async throws -> Void) async throws {
        let database = TestDatabase.current
        let admin = try await database.connect()
        let name = try await admin.query("SELECT current_database() || '_role'", by: .patient)[0].text(0)
        _ = try await admin.query("CREATE ROLE \(name) LOGIN \(options)", by: .patient)
        let words = database.conninfo.split(separator: " ").filter { !$0.hasPrefix("user=") }
        let role = TestRole(name: name, conninfo: (words + ["user='\(name)'"]).joined(separator: " "))
        let outcome: Result<Void, any Error>
        do {
            outcome = .success(try await body(role))
        } catch {
            outcome = .failure(error)
        }
        let backends = "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE usename = $1"
        _ = try await admin.query(backends, [.text(name)], by: .patient)
        try await admin.execute(
            script: """
                ALTER DATABASE \(String(name.dropLast("_role".count))) OWNER TO CURRENT_USER;
                REASSIGN OWNED BY \(name) TO CURRENT_USER; DROP OWNED BY \(name); DROP ROLE \(name);
                """,
            by: .patient
        )
        await admin.close()
        try outcome.get()
    }
}
