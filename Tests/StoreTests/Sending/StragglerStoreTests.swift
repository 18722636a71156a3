import APNsProtocol
import Core
import PostgreSQL
import Store
import TestSupport
import Testing

@Suite("Serving stragglers", .database, .timeLimit(.minutes(5)))
struct StragglerStoreTests {
    private func claim(_ match: SendingFixture) async throws -> [ClaimedStraggler] {
        try await match.store.claimStragglers(limit: 100, lease: .seconds(10), by: SendingFixture.soon).claimed
    }

    @Test("nothing is behind at version 0; later, whoever shows less or says nothing is")
    func behind() async throws {
        let match = try await SendingFixture(store: TestDatabase.current.store())
        #expect(try await match.register([try match.registration("a")]) == [.stored(version: 0, behind: false)])
        try await match.event("1")
        try await match.event("2")
        let answers = try await match.register([
            try match.registration("a", shown: 2), try match.registration("b", shown: 1),
            try match.registration("c"),
        ])
        #expect(
            answers == [
                .stored(version: 2, behind: false), .stored(version: 2, behind: true),
                .stored(version: 2, behind: true),
            ]
        )
        let stragglers = try await claim(match)
        #expect(Set(stragglers.map(\.activity.text)) == ["b", "c"])
        #expect(try await claim(match).isEmpty)
    }

    @Test("a phone that registers again while it is being sent to is due behind that, once, with what it still lacks")
    func registersWhileSending() async throws {
        let match = try await SendingFixture(store: TestDatabase.current.store())
        try await match.event("1")
        try await match.register([try match.registration("a"), try match.registration("b")])
        _ = try await match.value("UPDATE stragglers SET alert_version = 1")
        let first = try await claim(match)
        func rows() async throws -> [ActivityID: TokenRow] {
            let read = try await match.store.readStragglers(
                first,
                of: match.key,
                in: .production,
                by: SendingFixture.soon
            )
            return try #require(read).rows.mapValues(\.row)
        }
        let before = try await rows()
        #expect(Set(before.keys.map(\.text)) == ["a", "b"])
        try await match.register([try match.registration("a", token: "aa")])
        #expect(try await claim(match).isEmpty)
        var report = SendingFixture.report(version: 1)
        report.alertVersion = 1
        report.rows = before
        report.ends[.accepted] = first
        #expect(try await match.store.finishStragglers(of: match.key, report, by: SendingFixture.soon))
        let second = try await claim(match)
        #expect(second.map(\.activity.text) == ["a"])
        #expect(second.map(\.alertVersion) == [0])
        report.ends[.accepted] = second
        #expect(try await !match.store.finishStragglers(of: match.key, report, by: SendingFixture.soon))
        #expect(try await match.value("SELECT count(*) FROM stragglers") == "0")
        #expect(try await match.store.sumsOff(limit: 10, by: SendingFixture.soon) == [])
    }

    @Test("a phone that had registered again before its row was read has what it wants")
    func registersBeforeReading() async throws {
        let match = try await SendingFixture(store: TestDatabase.current.store())
        try await match.event("1")
        try await match.register([try match.registration("a")])
        let claimed = try await claim(match)
        try await match.register([try match.registration("a", token: "aa")])
        let read = try #require(
            try await match.store.readStragglers(claimed, of: match.key, in: .production, by: SendingFixture.soon)
        )
        var report = SendingFixture.report(version: 1)
        report.ends[.accepted] = claimed
        report.rows = read.rows.mapValues(\.row)
        #expect(try await !match.store.finishStragglers(of: match.key, report, by: SendingFixture.soon))
        #expect(try await match.value("SELECT count(*) FROM stragglers") == "0")
    }

    @Test("what fails meanwhile is tried again no sooner than it may, with its alert")
    func registersWhileFailing() async throws {
        let match = try await SendingFixture(store: TestDatabase.current.store())
        try await match.event("1")
        try await match.register([try match.registration("a")])
        _ = try await match.value("UPDATE stragglers SET alert_version = 1")
        let claimed = try await claim(match)
        try await match.register([try match.registration("a")])
        var report = SendingFixture.report(version: 1)
        report.alertVersion = 1
        report.retries = [(claimed[0], attempts: 1, carriesAlert: true, delay: .seconds(30))]
        #expect(try await match.store.finishStragglers(of: match.key, report, by: SendingFixture.soon))
        #expect(try await claim(match).isEmpty)
        let isLater = "SELECT (alert_version = 1 AND due_at > now() + interval '20 s')::text FROM stragglers"
        #expect(try await match.value(isLater) == "true")
    }

    @Test("a phone that had its alert by itself is known to have had it")
    func keepsAlerted() async throws {
        let match = try await SendingFixture(store: TestDatabase.current.store())
        try await match.event("1")
        for name in ["a", "b", "c"] { try await match.register([try match.registration(name)]) }
        _ = try await match.value(
            "UPDATE stragglers SET alert_version = CASE activity WHEN 'c' THEN 0 ELSE 1 END, is_handed = activity = 'b'"
        )
        var report = SendingFixture.report(version: 1)
        report.alertVersion = 1
        report.ends[.accepted] = try await claim(match)
        try await match.store.finishStragglers(of: match.key, report, by: SendingFixture.soon)
        let known = "SELECT string_agg(activity, ' ' ORDER BY activity) FROM activities WHERE alerted_version = 1"
        #expect(try await match.value(known) == "a b")
    }

    @Test("what became of stragglers is written once, unless they were armed again since")
    func finishing() async throws {
        let match = try await SendingFixture(store: TestDatabase.current.store())
        try await match.event("1")
        try await match.register(["a", "b"].map { try match.registration($0) })
        let claimed = try await claim(match)
        try #require(claimed.count == 2)
        try await match.register([try match.registration("b")])
        var report = SendingFixture.report(version: 1)
        report.ends[.accepted] = claimed
        for _ in 0..<2 {
            try await match.store.finishStragglers(of: match.key, report, by: SendingFixture.soon)
        }
        #expect(try await match.value("SELECT string_agg(activity, ',') FROM stragglers") == "b")
        let deliveries = try #require(try await match.store.deliveries(of: match.key, by: SendingFixture.soon))
        let line = try #require(deliveries.sends.first)
        #expect(deliveries.sends.count == 1 && line.counts.accepted == 1 && line.waiting == 1 && line.behind == 1)
        #expect(deliveries.sums.map(\.registered) == [2] && deliveries.sums.map(\.waiting) == [1])
        #expect(deliveries.sums.allSatisfy { $0.addsUp })
    }

    @Test("a straggler of an older version counts as merged with that, and with the version that it got")
    func overtaken() async throws {
        let match = try await SendingFixture(store: TestDatabase.current.store())
        try await match.event("1")
        try await match.register(["a", "b", "c", "d"].map { try match.registration($0) })
        let claimed = try await claim(match).sorted { $0.activity.text < $1.activity.text }
        try #require(claimed.count == 4)
        try await match.event("2")
        var report = SendingFixture.report(version: 2)
        report.ends[.accepted] = [claimed[0]]
        report.ends[.refused] = [claimed[1]]
        report.retries = [(claimed[2], 1, false, .seconds(60))]
        try await match.store.finishStragglers(of: match.key, report, by: SendingFixture.soon)
        _ = try await match.store.removeActivity(claimed[3].activity, match: match.key, by: SendingFixture.soon)
        let lines = try await match.store.owner(
            by: SendingFixture.soon,
            "SELECT to_version, wanted, accepted, removed, refused, merged FROM turns ORDER BY 1"
        ).map { row in (0..<6).map { row.int($0) } }
        #expect(lines == [[1, 4, 0, 1, 0, 3], [2, 2, 1, 0, 1, 0]])
        #expect(try await match.value("SELECT version || ' ' || attempts FROM stragglers") == "2 1")
        let off = try await match.store.sumsOff(limit: 10, by: SendingFixture.soon)
        #expect(off.isEmpty)
    }

    @Test("what a sweep handed over stays with its line, also when the phone changes its cadence meanwhile")
    func handedAndMoved() async throws {
        let match = try await SendingFixture(store: TestDatabase.current.store())
        try await match.register(["a", "b"].map { try match.registration($0) })
        try await match.event("1")
        var claimed = try await match.claim()[0]
        claimed.sweep.taken = 1
        claimed.counts.wanted = 2
        claimed.counts.accepted = 1
        claimed.counts.handed = 1
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
        #expect(try await match.store.commitPage(claimed, page, by: SendingFixture.soon))
        #expect(try await match.store.sumsOff(limit: 10, by: SendingFixture.soon) == [])

        try await match.register([try match.registration("a", frequent: false)])
        #expect(try await match.value("SELECT cadence FROM activities WHERE activity = 'a'") == "standard")
        #expect(try await match.store.sumsOff(limit: 10, by: SendingFixture.soon) == [])
        var report = SendingFixture.report(version: 1)
        report.ends[.accepted] = try await claim(match)
        #expect(report.ends[.accepted]?.map(\.activity.text) == ["a"])
        try await match.store.finishStragglers(of: match.key, report, by: SendingFixture.soon)
        #expect(try await match.store.sumsOff(limit: 10, by: SendingFixture.soon) == [])
    }

    @Test("who was left out of a sweep while being sent an older version gets the newer one, soon also if that fails")
    func followsWhatLeftItOut() async throws {
        let match = try await SendingFixture(store: TestDatabase.current.store())
        try await match.event("1")
        try await match.register(["a", "b"].map { try match.registration($0) })
        let claimed = try await claim(match)
        try await match.event("2")
        let state = try #require(try await match.store.matchState(match.key, in: .production, by: SendingFixture.soon))
        _ = try #require(try await match.store.stamp(state, with: 100, by: SendingFixture.soon))
        // As a page does that leaves them out.
        _ = try await match.value("UPDATE activities SET registered_xid = pg_current_xact_id()")
        var report = SendingFixture.report(version: 1)
        report.ends[.accepted] = claimed.filter { $0.activity.text == "a" }
        report.retries = claimed.filter { $0.activity.text == "b" }
            .map { ($0, attempts: 1, carriesAlert: false, delay: .seconds(3600)) }
        try await match.store.finishStragglers(of: match.key, report, by: SendingFixture.soon)
        let waiting = """
            SELECT string_agg(activity || version || ' ' || (due_at < now() + interval '10 s'), ', ' ORDER BY activity)
            FROM stragglers
            """
        #expect(try await match.value(waiting) == "a2 true, b1 true")
        #expect(try await match.store.sumsOff(limit: 10, by: SendingFixture.soon) == [])
    }

    /// A goal with an alert, and its stamp; a phone registers before either.
    private func goal(isBehind: Bool) async throws -> SendingFixture {
        let match = try await SendingFixture(store: TestDatabase.current.store())
        if !isBehind { try await match.register([try match.registration("a")]) }
        try await match.event("1", importance: .key, alert: #"{"title":"Goal!"}"#)
        if isBehind { try await match.register([try match.registration("a", shown: 0)]) }
        let state = try #require(try await match.store.matchState(match.key, in: .production, by: SendingFixture.soon))
        _ = try #require(try await match.store.stamp(state, with: 100, by: SendingFixture.soon))
        return match
    }

    private static let alert = "SELECT alert_version || ' ' || (doubt_row IS NOT NULL)::text FROM stragglers"

    @Test("a phone that renewed its row while a page may hold it is in doubt about the alert as before")
    func renews() async throws {
        let match = try await goal(isBehind: false)
        try await match.register([try match.registration("a", shown: 1)])
        #expect(try await match.value("SELECT count(*) FROM stragglers") == "0")
        try await match.register([try match.registration("a", token: "bb")])
        #expect(try await match.value(Self.alert) == "1 true")
    }

    @Test("a phone that made its shard behind the goal, and registers again, waits for the alert still")
    func makesShard() async throws {
        let match = try await goal(isBehind: true)
        #expect(try await match.value(Self.alert) == "1 false")
        try await match.register([try match.registration("a", shown: 0)])
        #expect(try await match.value(Self.alert)?.hasPrefix("1 ") == true)
    }
}
