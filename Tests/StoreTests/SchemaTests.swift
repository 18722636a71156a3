import Core
import PostgreSQL
import Store
import TestSupport
import Testing

@Suite("The tables", .database, .timeLimit(.minutes(5)))
struct SchemaTests {
    /// What belongs to no tenant.
    private static let shared: Set<String> = ["channel_makers", "clock", "operator_keys"]

    private var soon: ContinuousClock.Instant { .patient }

    private func tables(_ pool: PGPool) async throws -> [String] {
        try await pool.query(
            """
            SELECT c.relname FROM pg_class c WHERE c.relkind IN ('r', 'p') AND c.relnamespace = 'public'::regnamespace
            ORDER BY 1
            """,
            [],
            by: soon
        ).map { $0.text(0) }
    }

    @Test("that belong to tenants have keys that begin with tenant_id, and row-level security")
    func keys() async throws {
        let pool = TestDatabase.current.pool()
        let owned = try await tables(pool).filter { !Self.shared.contains($0) && !$0.contains("migration") }
        #expect(owned.count >= 11)
        for table in owned {
            let row = try await pool.query(
                """
                SELECT (SELECT a.attname FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid
                            AND a.attnum = i.indkey[0] WHERE i.indrelid = c.oid AND i.indisprimary),
                       c.relrowsecurity, pg_get_userbyid(c.relowner),
                       (SELECT count(*) FROM pg_policies p WHERE p.tablename = c.relname
                            AND 'touchline_api' = ANY (p.roles) AND p.qual IS NOT NULL AND p.with_check IS NOT NULL)
                FROM pg_class c WHERE c.oid = $1::text::regclass
                """,
                [.text(table)],
                by: soon
            )[0]
            #expect(row.optionalText(0) == "tenant_id", "\(table)")
            #expect(row.bool(1), "\(table)")
            #expect(row.text(2) != "touchline_api", "\(table)")
            #expect(row.int(3) >= 1, "\(table)")
        }
    }

    @Test("show a tenant its own rows only, whatever a statement asks for")
    func isolation() async throws {
        let store = TestDatabase.current.store()
        let mine = try await store.createTenant(name: "mine", by: soon).id
        let other = try await store.createTenant(name: "other", by: soon).id
        _ = try await store.createKey(.feed, of: other, expiresAt: nil, by: soon)
        #expect(try await store.tenant(mine, by: soon, "SELECT 1 FROM api_keys", []).isEmpty)
        #expect(try await store.tenant(mine, by: soon, "SELECT 1 FROM tenants", []).count == 1)
        #expect(try await store.tenant(other, by: soon, "DELETE FROM api_keys", []).affectedRows == 1)
        let insert = "INSERT INTO tenants (tenant_id, name) VALUES ('t_forged', 'x')"
        await #expect(throws: StoreError.self) { try await store.tenant(mine, by: soon, insert, []) }
        await #expect(throws: StoreError.self) {
            try await store.tenant(mine, by: soon, "SELECT 1 FROM operator_keys", [])
        }
        // Without a tenant there is nothing at all.
        #expect(try await store.api.query("SELECT 1 FROM tenants", [], by: soon).isEmpty)
    }
}
