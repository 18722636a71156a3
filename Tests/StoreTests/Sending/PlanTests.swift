import APNsProtocol
import Core
import PostgreSQL
import Store
import TestSupport
import Testing

/// Statements that the planner must not turn into a reading of the whole match, though it knows nothing of it yet.
@Suite("With a match that PostgreSQL has no statistics of", .database, .timeLimit(.minutes(5)))
struct PlanTests {
    @Test("writing outcomes and serving stragglers touch the rows concerned and no others")
    func touchesFewRows() async throws {
        let match = try await SendingFixture(store: TestDatabase.current.store(limit: 1))
        let soon = SendingFixture.soon
        _ = try await match.store.owner(by: soon, "ALTER TABLE activities SET (autovacuum_enabled = off)")
        _ = try await match.store.owner(
            by: soon,
            """
            INSERT INTO activities (tenant_id, match_id, activity, environment, cadence, token)
            SELECT 't_acme', 'final', 'bulk-' || n, 'production', 'frequent', 'aa' FROM generate_series(1, 20000) n
            """
        )
        try await match.register(try (0..<10).map { try match.registration("a\($0)") })
        try await match.event("1")
        let record = try #require(try await match.claim().first)
        let page = try #require(
            try await match.store.readPage(of: record.key, record.sweep.nextRange, limit: 10, by: soon)
        )
        var result = PageResult()
        result.dead = [(page.rows[0], nil), (page.rows[1], nil)]
        result.refused = [(page.rows[2], "BadDeviceToken")]
        result.handedOver = [
            HandedOver(
                target: record.key,
                version: 1,
                isUrgent: false,
                alertVersion: 0,
                stragglers: page.rows[3...].map { Straggler(activity: $0.activity, delay: .zero) }
            )
        ]
        try await match.register([try match.registration("a1", shown: 0)])

        let before = try await rowsRead(match)
        _ = try await match.store.commitPage(record, result, by: soon)
        let claimed = try await match.store.claimStragglers(limit: 5, lease: .seconds(9), by: soon).claimed
        _ = try await match.store.readStragglers(claimed, of: match.key, in: .production, by: soon)
        var report = SendingFixture.report(version: 1)
        report.ends[.accepted] = claimed
        report.ended = [claimed[0].activity]
        try await match.store.finishStragglers(of: match.key, report, by: soon)
        let read = try await rowsRead(match) - before
        #expect(read > 0 && read < 200, "\(read) rows read")
        #expect(try await match.value("SELECT count(*) FROM activities") == "20007")
        #expect(try await match.value("SELECT count(*) FROM stragglers") == "3")
    }

    @Test("a page of a sweep that leaves a phone to its straggler touches its own rows and no others")
    func leavesOutOfFewRows() async throws {
        let match = try await SendingFixture(store: TestDatabase.current.store(limit: 1))
        let soon = SendingFixture.soon
        for table in ["activities", "stragglers"] {
            _ = try await match.store.owner(by: soon, "ALTER TABLE \(table) SET (autovacuum_enabled = off)")
        }
        let range = Sweep.Range(after: 0, through: .max)
        try await match.event("1", importance: .key, alert: #"{"title":"Goal!"}"#)
        // Planned while there is nothing.
        for _ in 0..<6 { _ = try await match.store.readPage(of: match.target, range, limit: 10, by: soon) }
        let state = try #require(try await match.store.matchState(match.key, in: .production, by: soon))
        _ = try await match.store.stamp(state, with: state.now.seconds, by: soon)
        // All have registered behind the goal's stamp; the fifth is being sent the goal, and most of those behind the page.
        _ = try await match.store.owner(
            by: soon,
            [
                """
                INSERT INTO activities (tenant_id, match_id, activity, environment, cadence, token)
                SELECT 't_acme', 'final', 'bulk-' || n, 'production', 'frequent', 'aa' FROM generate_series(1, 20000) n
                """,
                """
                INSERT INTO stragglers (tenant_id, match_id, activity, version, alert_version, is_sending)
                SELECT 't_acme', 'final', 'bulk-' || n, 1, (n = 5 OR n > 100)::integer, n = 5 OR n > 100
                FROM generate_series(1, 20000) n
                """,
            ]
        )
        try await match.event("2")
        let newer = try #require(try await match.store.matchState(match.key, in: .production, by: soon))
        _ = try await match.store.stamp(newer, with: newer.now.seconds + 1, by: soon)

        let before = try await (rowsRead(match), stragglersRead(match))
        let page = try #require(try await match.store.readPage(of: match.target, range, limit: 10, by: soon))
        let read = try await (rowsRead(match) - before.0, stragglersRead(match) - before.1)
        #expect(page.rows.map(\.activity.text) == [1, 2, 3, 4, 6, 7, 8, 9, 10].map { "bulk-\($0)" })
        #expect(read.0 > 0 && read.0 < 100, "\(read.0) rows read")
        #expect(read.1 > 0 && read.1 < 50, "\(read.1) stragglers read")
        let again = try #require(try await match.store.readPage(of: match.target, range, limit: 10, by: soon))
        #expect(again.rows.map(\.number) == page.rows.map(\.number))
    }

    @Test("registering looks for other activities with the same token by its index")
    func findsTokens() async throws {
        let match = try await SendingFixture(store: TestDatabase.current.store(limit: 1))
        let soon = SendingFixture.soon
        _ = try await match.store.owner(by: soon, "ALTER TABLE activities SET (autovacuum_enabled = off)")
        // Planned while there is nothing.
        for number in 0..<6 { try await match.register([try match.registration("early-\(number)")]) }
        _ = try await match.store.owner(
            by: soon,
            """
            INSERT INTO activities (tenant_id, match_id, activity, environment, cadence, token)
            SELECT 't_acme', 'final', 'bulk-' || n, 'production', 'frequent', lpad(to_hex(n), 64, '0')
            FROM generate_series(1, 20000) n
            """
        )
        // Registrations have a connection of their own, which reports what it read only when it is told to.
        func flush() async throws {
            _ = try await match.store.tenant(match.tenant, by: soon, "SELECT pg_stat_force_next_flush()::text", [])
        }
        try await flush()
        let before = try await rowsRead(match)
        try await match.register(try (0..<10).map { try match.registration("late-\($0)") })
        try await flush()
        let read = try await rowsRead(match) - before
        #expect(read > 0 && read < 200, "\(read) rows read")
        let taken = String(repeating: "0", count: 60) + "0007"
        try await match.register([try match.registration("other", token: taken)])
        #expect(try await match.value("SELECT activity FROM activities WHERE token = '\(taken)'") == "other")
    }

    @Test("a page of starts reads so many devices, whoever follows, and all pages find everybody once")
    func readsDevicesByPages() async throws {
        let match = try await SendingFixture(store: TestDatabase.current.store(limit: 1))
        let soon = SendingFixture.soon
        _ = try await match.store.owner(by: soon, "ALTER TABLE devices SET (autovacuum_enabled = off)")
        // The few that follow are the first and the last, in the order of the ids.
        _ = try await match.store.owner(
            by: soon,
            """
            INSERT INTO devices (tenant_id, device, bundle, environment, push_to_start_token, topics)
            SELECT 't_acme', 'd' || lpad(n::text, 5, '0'), bundle, 'production', lpad(to_hex(n), 64, '0'),
                   CASE WHEN n <= 30 OR n > 19990 THEN ARRAY['team:a'] ELSE ARRAY['team:c'] END
            FROM generate_series(1, 20000) n, matches
            """
        )
        _ = try await match.store.owner(
            by: soon,
            [
                "UPDATE matches SET topics = '{team:a}', start_alert = '{}', status = 'scheduled'",
                Store.planStarts(tenant: match.key.tenant, match: match.key.match),
            ]
        )
        let claimed = try await match.store.claimStartPass(owner: "a1", lease: .seconds(30), by: soon)
        let pass = try #require(claimed.pass)
        var found: [String] = []
        var pages: [Int] = []
        while true {
            let before = try await devicesRead(match)
            let page = try #require(
                try await match.store.recordStarts(
                    of: pass,
                    limit: 20,
                    scanLimit: 1_000,
                    lease: .seconds(30),
                    by: soon
                )
            )
            // The scan, and each start once more.
            let read = try await devicesRead(match) - before
            #expect(read > 0 && read <= 1_100, "\(read) rows read")
            found += page.starts.map(\.device.text)
            pages.append(page.starts.count)
            if page.isAtEnd { break }
        }
        #expect(found.count == 40 && Set(found).count == 40)
        // The second page begins behind the 20th device: the last follower is on the 21st page's thousand.
        #expect(pages == [20, 10] + Array(repeating: 0, count: 18) + [10])
    }

    /// Rows of `devices` that this connection's scans have read.
    private func devicesRead(_ match: SendingFixture) async throws -> Int {
        _ = try await match.value("SELECT pg_stat_force_next_flush()::text")
        let read = try await match.value(
            "SELECT (seq_tup_read + coalesce(idx_tup_fetch, 0))::text FROM pg_stat_user_tables WHERE relname = 'devices'"
        )
        return Int(read ?? "") ?? -1
    }

    /// Rows of `activities` that this connection's scans have read.
    private func rowsRead(_ match: SendingFixture) async throws -> Int {
        try await read(match, ["activities", "activities_pkey", "activities_sweep", "activities_token"])
    }

    private func stragglersRead(_ match: SendingFixture) async throws -> Int {
        try await read(match, ["stragglers", "stragglers_pkey", "stragglers_alerting"])
    }

    /// Rows and index entries of these relations.
    private func read(_ match: SendingFixture, _ relations: [String]) async throws -> Int {
        _ = try await match.value("SELECT pg_stat_force_next_flush()::text")
        let read = try await match.value(
            """
            SELECT sum(pg_stat_get_tuples_returned(c::regclass)) + sum(pg_stat_get_tuples_fetched(c::regclass))
            FROM unnest($1::text[]) c
            """,
            [.textArray(relations)]
        )
        return Int(read ?? "") ?? 0
    }
}
