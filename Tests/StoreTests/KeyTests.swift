import Core
import PostgreSQL
import Store
import TestSupport
import Testing

@Suite("API keys", .database, .timeLimit(.minutes(5)))
struct KeyTests {
    private let store = TestDatabase.current.store()
    private let deadline = ContinuousClock.now + .seconds(120)

    private func makeTenant(_ name: String) async throws -> TenantID {
        let tenant = try #require(TenantID(validating: "t_\(name)"))
        _ = try await store.owner(
            by: deadline,
            "INSERT INTO tenants (tenant_id, name) VALUES ($1, $1)",
            [.text(tenant.text)]
        )
        return tenant
    }

    @Test("open what their role says, until they are revoked")
    func life() async throws {
        let tenant = try await makeTenant("acme")
        let made = try #require(try await store.createKey(.feed, of: tenant, expiresAt: nil, by: deadline))
        let sent = try #require(KeySecret(made.text))
        #expect(made.text.hasPrefix("tl_feed_"))
        let caller = try await store.caller(of: sent, by: deadline)
        #expect(caller == Caller(key: made.id, role: .feed, tenant: tenant))
        #expect(try await store.keys(of: tenant, after: nil, limit: 10, by: deadline).map(\.id) == [made.id])
        #expect(try await store.revokeKey(made.id, of: tenant, by: deadline))
        #expect(try await store.caller(of: sent, by: deadline) == nil)
    }

    @Test("are refused with another secret, another role, or out of time")
    func refused() async throws {
        let tenant = try await makeTenant("acme")
        let made = try #require(try await store.createKey(.feed, of: tenant, expiresAt: nil, by: deadline))
        let otherSecret = try #require(KeySecret(String(made.text.dropLast()) + (made.text.hasSuffix("0") ? "1" : "0")))
        #expect(try await store.caller(of: otherSecret, by: deadline) == nil)
        let otherRole = try #require(KeySecret("tl_admin" + made.text.dropFirst(7)))
        #expect(try await store.caller(of: otherRole, by: deadline) == nil)
        let past = Timestamp(seconds: 1_700_000_000)
        let expired = try #require(try await store.createKey(.read, of: tenant, expiresAt: past, by: deadline))
        #expect(try await store.caller(of: expired, by: deadline) == nil)
    }

    @Test("of another tenant are neither seen nor ended")
    func otherTenant() async throws {
        let acme = try await makeTenant("acme")
        let rival = try await makeTenant("rival")
        let made = try #require(try await store.createKey(.admin, of: acme, expiresAt: nil, by: deadline))
        #expect(try await store.keys(of: rival, after: nil, limit: 10, by: deadline).isEmpty)
        #expect(try await !store.revokeKey(made.id, of: rival, by: deadline))
        // Row-level security, not the statement's own condition.
        let seen = try await store.tenant(rival, by: deadline, "SELECT count(*) FROM api_keys", [])
        #expect(seen[0].int(0) == 0)
        let unknown = try #require(TenantID(validating: "t_nobody"))
        #expect(try await store.createKey(.read, of: unknown, expiresAt: nil, by: deadline) == nil)
    }

    @Test("of operators belong to no tenant")
    func operators() async throws {
        let made = try await store.createOperatorKey(by: deadline)
        let caller = try await store.caller(of: try #require(KeySecret(made.text)), by: deadline)
        #expect(caller == Caller(key: made.id, role: .operator, tenant: nil))
        #expect(!"\(made)".contains(made.text.suffix(64)))
        let tenant = try await makeTenant("acme")
        await #expect(throws: StoreError.self) {
            try await store.tenant(tenant, by: deadline, "SELECT count(*) FROM operator_keys", [])
        }
    }

    @Test(
        "that cannot be ours are not looked up",
        arguments: [
            "", "tl_feed", "tl_boss_0123_ab", "tl_feed_UPPER_ab", "tl_feed_0123_", "xx_feed_0123_ab", "tl_feed_0_1_2",
        ]
    )
    func malformed(text: String) {
        #expect(KeySecret(text) == nil)
    }
}

@Suite("The master key")
struct MasterKeyTests {
    private let binding = MasterKey.Binding(purpose: "p8", tenant: "t_acme", subject: "com.acme/production")

    @Test("opens what it sealed for the same row, and nothing else")
    func sealing() throws {
        let key = MasterKey.random()
        let sealed = try key.seal([1, 2, 3], for: binding)
        #expect(try key.open(sealed, for: binding) == [1, 2, 3])
        #expect(try MasterKey(base64: key.base64 + "\n").open(sealed, for: binding) == [1, 2, 3])
        let elsewhere = MasterKey.Binding(purpose: "p8", tenant: "t_rival", subject: "com.acme/production")
        #expect(throws: StoreError.self) { try key.open(sealed, for: elsewhere) }
        #expect(throws: StoreError.self) { try MasterKey.random().open(sealed, for: binding) }
        #expect(throws: StoreError.self) { try key.open(Array(sealed.dropLast()), for: binding) }
        #expect(throws: StoreError.self) { try key.open([], for: binding) }
    }

    @Test("has 32 bytes in base64", arguments: ["", "AAAA", "not base64!"])
    func malformed(text: String) {
        #expect(throws: StoreError.self) { try MasterKey(base64: text) }
    }
}
