import APNsProtocol
import Core
import Store
import TestSupport
import Testing

@Suite("Tables that stay small", .database, .timeLimit(.minutes(5)))
struct UpkeepTests {
    /// Brings a routine version to its target, which then rests for a gap of ten minutes.
    private func rested() async throws -> SendingFixture {
        let match = try await SendingFixture(store: TestDatabase.current.store())
        try await match.register([try match.registration("a")])
        try await match.event("1")
        var record = try #require(try await match.claim().first)
        let page = try #require(
            try await match.store.readPage(of: record.key, record.sweep.nextRange, limit: 10, by: SendingFixture.soon)
        )
        let limits = PacingLimits(gap: .seconds(600), urgentPerHour: 10)
        let step = record.sweep.plan(page: page.page, head: page.state.head, limits: limits, now: page.state.now)
        guard case .send(let plan) = step else { throw CancellationError() }
        record.sweep = plan.after
        let turn = TurnRecord(from: 1, to: 1, priority: 5, acceptedAt: page.state.acceptedAt, counts: record.counts)
        let isHeld = try await match.store.finishTurn(
            record,
            PageResult(),
            turn: turn,
            gap: limits.gap,
            isDurable: true,
            by: SendingFixture.soon
        )
        #expect(isHeld)
        return match
    }

    @Test("a routine event within the gap makes its target due when that is over, and says since when it is held")
    func heldByTheGap() async throws {
        let match = try await rested()
        try await match.event("2")
        #expect(try await match.claim().isEmpty)
        #expect(
            try await match.value(
                """
                SELECT (due_at = to_timestamp(routine_at / 1000.0) + interval '600 s' AND held_at <= clock_timestamp()
                        AND NOT urgent)::text FROM targets
                """
            ) == "true"
        )
        // Another one changes nothing.
        let before = try await match.value("SELECT (due_at, held_at)::text FROM targets")
        try await match.event("3")
        #expect(try await match.value("SELECT (due_at, held_at)::text FROM targets") == before)
        try await match.event("4", importance: .key)
        #expect(try await match.claim().map(\.isUrgent) == [true])
    }

    @Test("a key event within the gap is due at once")
    func keyIsNotHeld() async throws {
        let match = try await rested()
        try await match.event("2", importance: .key)
        #expect(try await match.claim().count == 1)
    }

    @Test("a routine event is due at once after the clock was set back")
    func clockSetBack() async throws {
        let match = try await rested()
        _ = try await match.value("UPDATE targets SET routine_at = routine_at + 3600000")
        try await match.event("2")
        #expect(try await match.claim().count == 1)
    }

    @Test("changed settings hold for what waits for a gap, and for what comes", arguments: [true, false])
    func pacedAnew(waits: Bool) async throws {
        let match = try await rested()
        let app = AppKey(tenant: match.tenant, bundle: try #require(match.bundle), environment: .production)
        if waits { try await match.event("2") }
        try await match.store.paceAnew(app, by: SendingFixture.soon)
        if !waits {
            #expect(try await match.value("SELECT due_at::text FROM targets") == nil)
            try await match.event("2")
        }
        #expect(try await match.claim().count == 1)
    }

    @Test("turns are forgotten after two days, all lines of a version together")
    func prunesTurns() async throws {
        let match = try await SendingFixture(store: TestDatabase.current.store())
        _ = try await match.store.owner(
            by: SendingFixture.soon,
            """
            INSERT INTO turns (tenant_id, match_id, kind, environment, cadence, from_version, to_version, made_at)
            SELECT 't_acme', 'final', kind, 'production', 'frequent', version, version, now() - age
            FROM (VALUES ('tokens', 1, interval '49 hours'), ('stragglers', 1, interval '48.1 hours'),
                         ('tokens', 2, interval '49 hours'), ('stragglers', 2, interval '47 hours'),
                         ('channel', 3, interval '50 hours'), ('channel', 4, interval '1 hour'))
                AS lines (kind, version, age)
            """
        )
        #expect(try await match.store.pruneTurns(limit: 2, by: SendingFixture.soon) > 0)
        _ = try await match.store.pruneTurns(limit: 100, by: SendingFixture.soon)
        let left = "SELECT string_agg(kind || to_version, ' ' ORDER BY to_version, kind) FROM turns"
        #expect(try await match.value(left) == "stragglers2 tokens2 channel4")
    }

    @Test("small tables with many dead rows are vacuumed, others are left alone")
    func vacuums() async throws {
        let match = try await SendingFixture(store: TestDatabase.current.store())
        try await match.register([try match.registration("a")])
        for _ in 1...20 {
            _ = try await match.store.owner(by: SendingFixture.soon, "UPDATE targets SET due_at = clock_timestamp()")
        }
        // Statistics arrive a second after their transaction at the latest, if their connection is used again.
        let deadline = ContinuousClock.now + .seconds(90)
        var vacuumed: [String] = []
        while vacuumed.isEmpty, .now < deadline {
            #expect(try await match.store.vacuumHotTables(dead: 21, by: SendingFixture.soon) == [])
            #expect(try await match.store.vacuumHotTables(dead: 5, mostBytes: 0, by: SendingFixture.soon) == [])
            vacuumed = try await match.store.vacuumHotTables(dead: 5, by: SendingFixture.soon)
        }
        #expect(vacuumed == ["targets"])
    }
}
