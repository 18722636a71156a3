import APNsProtocol
import Core
import PostgreSQL
import Store
import TestSupport
import Testing

@Suite("Registering activities", .database, .timeLimit(.minutes(5)))
struct ActivityStoreTests {
    @Test("an unknown match and an environment without an app are told apart")
    func refusals() async throws {
        let match = try await SendingFixture(store: TestDatabase.current.store())
        let answers = try await match.register([
            try match.registration("a", environment: .sandbox), try match.registration("b"),
        ])
        #expect(answers == [.noApp, .stored(version: 0, behind: false)])
        let nowhere = MatchKey(tenant: match.tenant, match: MatchID(unchecked: "nowhere"))
        let lost = try await match.store.register(
            [try match.registration("a")],
            match: nowhere,
            by: SendingFixture.soon
        )
        #expect(lost == [.matchNotFound])
    }

    @Test("a new token or cadence gives the row a new number; the same again keeps it")
    func moves() async throws {
        let match = try await SendingFixture(store: TestDatabase.current.store())
        func number() async throws -> String? { try await match.value("SELECT row_no FROM activities") }
        try await match.register([try match.registration("a", token: "aa")])
        let first = try await number()
        try await match.register([try match.registration("a", token: "aa")])
        #expect(try await number() == first)
        try await match.register([try match.registration("a", token: "bb")])
        let rotated = try await number()
        #expect(rotated != first)
        try await match.register([try match.registration("a", token: "bb", frequent: false)])
        #expect(try await number() != rotated)
        #expect(try await match.value("SELECT cadence FROM activities") == "standard")
        #expect(try await match.value("SELECT count(*) FROM targets") == "2")
    }

    @Test("a declaration that changes paces phones otherwise at once, without their registering again")
    func declaration() async throws {
        let match = try await SendingFixture(store: TestDatabase.current.store(), declaresFrequent: false)
        try await match.register([try match.registration("a", frequent: true)])
        func limits() async throws -> PacingLimits? {
            let cadence = try await match.value("SELECT cadence FROM activities").flatMap(Cadence.init(rawValue:))
            let state = try await match.store.matchState(match.key, in: .production, by: SendingFixture.soon)
            return state?.app?.limits(for: try #require(cadence))
        }
        #expect(try await limits() == PacingLimits(gap: .seconds(60), urgentPerHour: 15))
        _ = try await match.store.owner(
            by: SendingFixture.soon,
            "UPDATE apps SET frequent_updates_declared = true"
        )
        #expect(try await limits() == PacingLimits(gap: .seconds(5), urgentPerHour: 120))
    }

    @Test("an activity twice in one call counts as its last")
    func twice() async throws {
        let match = try await SendingFixture(store: TestDatabase.current.store())
        let answers = try await match.register([
            try match.registration("a", token: "aa"), try match.registration("a", token: "bb"),
        ])
        #expect(answers.count == 2)
        #expect(try await match.value("SELECT token FROM activities") == "bb")
    }

    @Test("removing answers whether there was one, and takes its straggler along")
    func removal() async throws {
        let match = try await SendingFixture(store: TestDatabase.current.store())
        try await match.event("1")
        try await match.register([try match.registration("a")])
        let activity = ActivityID(unchecked: "a")
        #expect(try await match.store.removeActivity(activity, match: match.key, by: SendingFixture.soon))
        #expect(!(try await match.store.removeActivity(activity, match: match.key, by: SendingFixture.soon)))
        #expect(try await match.value("SELECT count(*) FROM stragglers") == "0")
    }

    @Test("registrations and events at once: whoever is not swept is a straggler", arguments: 0..<6)
    func race(round: Int) async throws {
        let match = try await SendingFixture(store: TestDatabase.current.store(limit: 8))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<20 {
                group.addTask { try await match.register([try match.registration("a\(number)", shown: 0)]) }
                if number % 5 == 0 { group.addTask { try await match.event("e\(number)") } }
            }
            try await group.waitForAll()
        }
        // Every token is a straggler of the newest version, or its shard is due and will be swept.
        let isDue = try await match.value("SELECT count(*) FROM targets WHERE due_at IS NOT NULL") != "0"
        let lost = try await match.value(
            """
            SELECT count(*) FROM activities a WHERE NOT EXISTS (SELECT FROM stragglers s
                WHERE s.activity = a.activity AND s.version = (SELECT version FROM matches))
            """
        )
        #expect(isDue || lost == "0")
    }

    @Test("who has lost the lease hands nothing over: nobody would count it")
    func handsOverUnderLease() async throws {
        let match = try await SendingFixture(store: TestDatabase.current.store())
        try await match.register(["a", "b"].map { try match.registration($0) })
        try await match.event("1")
        let claimed = try await match.claim()[0]
        _ = try await match.store.owner(by: SendingFixture.soon, "UPDATE targets SET lease_epoch = lease_epoch + 1")
        var page = PageResult()
        page.handedOver = [
            HandedOver(
                target: match.target,
                version: 1,
                isUrgent: false,
                alertVersion: 0,
                stragglers: [Straggler(activity: ActivityID(unchecked: "a"), delay: .zero)]
            )
        ]
        #expect(try await !match.store.commitPage(claimed, page, by: SendingFixture.soon))
        #expect(try await match.value("SELECT count(*) FROM stragglers") == "0")
        #expect(try await match.store.sumsOff(limit: 10, by: SendingFixture.soon) == [])
    }

    @Test("a phone that registers as its match is cleared up stays until it has had the end")
    func registersAtTheEnd() async throws {
        let match = try await SendingFixture(store: TestDatabase.current.store())
        try await match.register([try match.registration("a")])
        try await match.event("1")
        let stamp = """
            UPDATE matches SET end_version = 1, stamped_version = 1, last_stamp = 1, stamp_snapshot = pg_current_snapshot()
            """
        _ = try await match.store.owner(by: SendingFixture.soon, stamp)
        try await match.register([try match.registration("b")])
        // As between a registration and the comparison that follows it.
        _ = try await match.store.owner(by: SendingFixture.soon, "DELETE FROM stragglers")
        _ = try await match.store.removeTokens(of: match.key, limit: 10, by: SendingFixture.soon)
        #expect(try await match.value("SELECT string_agg(activity, ',') FROM activities") == "b")
    }

    @Test("a token that was registered again while its refusal was on its way is not set aside")
    func revivedMeanwhile() async throws {
        let match = try await SendingFixture(store: TestDatabase.current.store())
        try await match.register(["a", "b"].map { try match.registration($0) })
        try await match.event("1")
        let claimed = try await match.claim()[0]
        let read = try await match.store.readPage(
            of: match.target,
            Sweep().nextRange,
            limit: 10,
            by: SendingFixture.soon
        )
        let rows = try #require(read?.rows)
        try #require(rows.count == 2)
        // A registration's time is known to the millisecond.
        let later = "UPDATE activities SET registered_at = registered_at + interval '2 ms' WHERE activity = 'a'"
        _ = try await match.store.owner(by: SendingFixture.soon, later)
        var page = PageResult()
        page.refused = rows.map { ($0, "BadDeviceToken") }
        #expect(try await match.store.commitPage(claimed, page, by: SendingFixture.soon))
        let aside = "SELECT string_agg(activity, '' ORDER BY activity) FROM activities WHERE refused_reason IS NOT NULL"
        #expect(try await match.value(aside) == "b")
    }

    @Test("failures beyond the bound of a match are given up, and the books say so")
    func bound() async throws {
        let match = try await SendingFixture(store: TestDatabase.current.store())
        try await match.register(["a", "b", "c", "d"].map { try match.registration($0) })
        try await match.event("1")
        let lines = try await match.store.owner(
            by: SendingFixture.soon,
            [
                """
                SELECT touchline_hand_over('t_acme', 'final', 'production', 'frequent', 0::smallint, 1, false, 0,
                    ARRAY['a', 'b', 'c', 'gone', 'd'], ARRAY[0, 0, 0, 0, 0]::bigint[], 4)
                """,
                "SELECT wanted, given_up, removed, handed, over FROM turns",
            ]
        )[1].map { row in (0..<5).map { row.int($0) } }
        #expect(lines == [[2, 1, 1, 2, 1]])
        #expect(try await match.value("SELECT string_agg(activity, '' ORDER BY activity) FROM stragglers") == "abc")

        try await match.event("2")
        let answers = try await match.store.owner(
            by: SendingFixture.soon,
            """
            SELECT count(activity) FROM touchline_compare('t_acme', ARRAY['final'], ARRAY[1], ARRAY[2], ARRAY['c', 'd'],
                ARRAY[NULL, NULL]::bigint[], ARRAY[NULL, NULL]::text[], ARRAY[NULL, NULL]::smallint[],
                ARRAY[NULL, NULL]::bigint[], ARRAY[NULL, NULL]::bigint[], 3)
            """
        )
        #expect(answers[0].int(0) == 2)
        // Who waits already needs no room.
        #expect(try await match.value("SELECT over FROM turns WHERE to_version = 2") == "1")
        let waiting = "SELECT string_agg(activity || version, ' ' ORDER BY activity) FROM stragglers"
        #expect(try await match.value(waiting) == "a1 b1 c2")
    }

    @Test("activities of many matches are registered in one call, each answered with its match's version")
    func manyMatches() async throws {
        let store = TestDatabase.current.store()
        var fixtures: [SendingFixture] = []
        for number in 0..<5 { fixtures.append(try await SendingFixture(store: store, match: "m\(number)")) }
        try await fixtures[2].event("1")
        try await fixtures[4].event("1")
        var calls: [(match: MatchID, registration: ActivityRegistration)] = []
        for number in 0..<50 {
            let match = fixtures[number % 5]
            calls.append((match.match, try match.registration("a\(number)", shown: number % 10 == 4 ? 1 : nil)))
        }
        calls.append((MatchID(unchecked: "nowhere"), try fixtures[0].registration("x")))
        calls.append((fixtures[0].match, try fixtures[0].registration("y", environment: .sandbox)))
        let answers = try await store.register(calls, of: fixtures[0].tenant, by: SendingFixture.soon)
        #expect(answers.suffix(2) == [.matchNotFound, .noApp])
        for number in 0..<50 {
            let version: Int64 = [2, 4].contains(number % 5) ? 1 : 0
            #expect(answers[number] == .stored(version: version, behind: version == 1 && number % 10 != 4))
        }
        #expect(try await fixtures[0].value("SELECT count(*) FROM stragglers") == "15")
        #expect(try await fixtures[0].value("SELECT count(*) FROM targets") == "5")
    }
}
