import Core
import PostgreSQL
import Store
import TestSupport
import Testing

@Suite("Claims", .database, .timeLimit(.minutes(5)))
struct ClaimTests {
    /// Writes due targets of a tenant, one a match, each due a millisecond after the one before.
    private func flood(
        _ store: Store,
        tenant: String,
        matches: Int,
        kind: TargetKind,
        urgent: Bool = false,
        overdue seconds: Int = 60
    ) async throws {
        _ = try await store.owner(
            by: SendingFixture.soon,
            [
                PGStatement(
                    """
                    INSERT INTO matches (tenant_id, match_id, bundle, attributes_type, kickoff_at, content_state,
                                         version, urgent_version)
                    SELECT $1, 'm' || n, 'com.example.scores', 'Score', now(), '{}', 1, CASE WHEN $3 THEN 1 ELSE 0 END
                    FROM generate_series(1, $2::int) n
                    """,
                    [.text(tenant), .int(matches), .bool(urgent)]
                ),
                PGStatement(
                    """
                    INSERT INTO targets (tenant_id, match_id, kind, environment, cadence, due_at, urgent)
                    SELECT $1, 'm' || n, $3, 'production', 'frequent',
                           now() - make_interval(secs => $5::int) - (1000 - n) * interval '1 ms', $4
                    FROM generate_series(1, $2::int) n
                    """,
                    [.text(tenant), .int(matches), .text(kind.rawValue), .bool(urgent), .int(seconds)]
                ),
            ]
        )
    }

    private func claim(
        _ store: Store,
        room: Int,
        tokens: Int? = nil,
        running: [TenantID: Int] = [:]
    ) async throws -> [TargetRecord] {
        try await store.claimDue(
            ClaimRoom(all: room, tokens: tokens ?? room),
            running: running,
            owner: "me",
            lease: .seconds(60),
            by: SendingFixture.soon
        ).claimed.map(\.record)
    }

    @Test("a flood of one tenant's events holds up another's single event by no claim", arguments: TargetKind.allCases)
    func flood(kind: TargetKind) async throws {
        let store = TestDatabase.current.store()
        try await flood(store, tenant: "t_flood", matches: 1_000, kind: kind)
        // Due a minute after them all.
        try await flood(store, tenant: "t_small", matches: 2, kind: kind, overdue: 0)

        let first = try await claim(store, room: 8)
        #expect(first.count == 8)
        #expect(first.count { $0.key.match.tenant.text == "t_small" } == 2)
        // A tenant whose work runs already comes after one that has none.
        try await flood(store, tenant: "t_third", matches: 1, kind: kind, overdue: 0)
        let flooding = TenantID(validating: "t_flood").map { [$0: 6] } ?? [:]
        #expect(try await claim(store, room: 1, running: flooding).map(\.key.match.tenant.text) == ["t_third"])
    }

    @Test("a flood of key events' channels holds up another's routine tokens by no claim")
    func lowestRank() async throws {
        let store = TestDatabase.current.store()
        try await flood(store, tenant: "t_flood", matches: 1_000, kind: .channel, urgent: true)
        let match = try await SendingFixture(store: store)
        try await match.register([try match.registration("a")])
        try await match.event("1")
        #expect(try await claim(store, room: 8).contains { $0.key == match.target })
    }

    @Test("a flood of routine updates, of channels even, holds up neither a key event's channel nor its tokens")
    func ranks() async throws {
        let store = TestDatabase.current.store()
        try await flood(store, tenant: "t_flood", matches: 300, kind: .channel)
        try await flood(store, tenant: "t_goal", matches: 3, kind: .tokens, urgent: true)
        try await flood(store, tenant: "t_red", matches: 3, kind: .channel, urgent: true)
        let claimed = try await claim(store, room: 8)
        #expect(claimed.prefix(3).allSatisfy { $0.isUrgent && $0.key.kind == .channel })
        #expect(claimed.dropFirst(3).prefix(3).allSatisfy { $0.isUrgent && $0.key.kind == .tokens })
        #expect(claimed.dropFirst(6).allSatisfy { !$0.isUrgent && $0.key.kind == .channel })
        #expect(claimed.count == 8)
    }

    @Test("sweeps leave places to channels")
    func places() async throws {
        let store = TestDatabase.current.store()
        try await flood(store, tenant: "t_flood", matches: 50, kind: .tokens, urgent: true)
        #expect(try await claim(store, room: 8, tokens: 6).count == 6)
        #expect(try await claim(store, room: 2, tokens: 0).isEmpty)
        try await flood(store, tenant: "t_other", matches: 1, kind: .channel)
        #expect(try await claim(store, room: 2, tokens: 0).map(\.key.kind) == [.channel])
    }

    @Test("eight processes that claim at once share what is due, and no target has two holders")
    func eightProcesses() async throws {
        let store = TestDatabase.current.store(limit: 8)
        for tenant in ["t_a", "t_b", "t_c"] { try await flood(store, tenant: tenant, matches: 100, kind: .channel) }
        let claimed = try await withThrowingTaskGroup(of: [TargetKey].self) { group in
            for _ in 0..<8 {
                group.addTask {
                    var mine: [TargetKey] = []
                    while case let more = try await claim(store, room: 16).map(\.key), !more.isEmpty { mine += more }
                    return mine
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        #expect(claimed.count == Set(claimed).count)
        // Who lost all that it chose to others stops early: what is left is left to be claimed.
        let rest = try await claim(store, room: 300).map(\.key)
        #expect(Set(claimed + rest).count == 300 && claimed.count + rest.count == 300)
    }

    @Test("a key event makes a target urgent that is due already, and taking it up makes it routine again")
    func urgency() async throws {
        let match = try await SendingFixture(store: TestDatabase.current.store())
        try await match.register([try match.registration("a")])
        try await match.event("1")
        #expect(try await match.value("SELECT urgent::text FROM targets") == "false")
        let due = try await match.value("SELECT due_at::text FROM targets")
        try await match.event("2", importance: .key)
        #expect(try await match.value("SELECT urgent::text FROM targets") == "true")
        #expect(try await match.value("SELECT due_at::text FROM targets") == due)
        var record = try #require(try await match.claim().first)
        // Given back before it was taken up: it stays urgent.
        try await match.store.release(record, after: .zero, seen: 2, by: SendingFixture.soon)
        record = try #require(try await match.claim().first)
        #expect(record.isUrgent)
        record.sweep.urgentVersion = 2
        try await match.store.release(record, after: nil, seen: 2, by: SendingFixture.soon)
        #expect(try await match.value("SELECT urgent::text FROM targets") == "false")
    }
}
