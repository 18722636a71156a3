import APNsProtocol
import Core
import PostgreSQL
import Store
import TestSupport
import Testing

@Suite("Claiming and sweeping targets", .database, .timeLimit(.minutes(5)))
struct TargetStoreTests {
    private func plan(_ record: TargetRecord, _ page: TokenPage) throws -> Sweep.Plan {
        let limits = try #require(page.state.app).limits(for: record.key.cadence)
        let step = record.sweep.plan(page: page.page, head: page.state.head, limits: limits, now: page.state.now)
        guard case .send(let plan) = step else {
            Issue.record("nothing to send: \(step)")
            throw CancellationError()
        }
        return plan
    }

    private func read(_ record: TargetRecord, _ match: SendingFixture, limit: Int = 10) async throws -> TokenPage {
        try #require(
            try await match.store.readPage(
                of: record.key,
                record.sweep.nextRange,
                limit: limit,
                by: SendingFixture.soon
            )
        )
    }

    private func turn(_ record: TargetRecord, _ page: TokenPage) -> TurnRecord {
        TurnRecord(
            from: 1,
            to: record.sweep.reached,
            priority: 10,
            acceptedAt: page.state.acceptedAt,
            counts: record.counts
        )
    }

    @Test("an event makes a shard due, one process claims it, a turn is swept and committed page by page")
    func wholeTurn() async throws {
        let match = try await SendingFixture(store: TestDatabase.current.store())
        try await match.register((0..<15).map { try match.registration("a\($0)", token: "00\($0 + 10)") })
        #expect(try await match.claim().isEmpty)
        try await match.event("goal", importance: .key, alert: #"{"title":"Goal!"}"#)

        var record = try #require(try await match.claim().first)
        #expect(record.isUrgent)
        #expect(try await match.claim("another").isEmpty)

        var pages = 0
        var numbers: [Int64] = []
        while true {
            let page = try await read(record, match)
            let plan = try plan(record, page)
            #expect(plan.carriesAlert && plan.priority == 10)
            numbers += page.rows.map(\.number)
            pages += 1
            record.sweep = plan.after
            record.counts.accepted += page.rows.count
            if plan.after.turn == nil {
                let isHeld = try await match.store.finishTurn(
                    record,
                    PageResult(),
                    turn: turn(record, page),
                    isDurable: true,
                    by: SendingFixture.soon
                )
                #expect(isHeld)
                break
            }
            #expect(try await match.store.commitPage(record, PageResult(), by: SendingFixture.soon))
        }
        #expect(pages == 2 && Set(numbers).count == 15)
        #expect(try await match.claim().isEmpty)
        let deliveries = try #require(try await match.store.deliveries(of: match.key, by: SendingFixture.soon))
        #expect(deliveries.sends.count == 1)
        #expect(deliveries.sends[0].state == .done && deliveries.sends[0].counts.accepted == 15)
        #expect(try await match.value("SELECT due_at FROM targets") == nil)
    }

    @Test("a successor goes on from the committed cursor; who lost the lease writes nothing")
    func takeOver() async throws {
        let match = try await SendingFixture(store: TestDatabase.current.store())
        try await match.register((0..<15).map { try match.registration("a\($0)", token: "00\($0 + 10)") })
        try await match.event("goal", importance: .key)
        var stalled = try #require(try await match.claim(lease: .zero).first)
        let page = try await read(stalled, match)
        stalled.sweep = try plan(stalled, page).after
        #expect(try await match.store.commitPage(stalled, PageResult(), by: SendingFixture.soon))

        let successor = try #require(try await match.claim("another").first)
        #expect(successor.sweep == stalled.sweep)
        #expect(successor.epoch > stalled.epoch)
        #expect(!(try await match.store.commitPage(stalled, PageResult(), by: SendingFixture.soon)))
        #expect(!(try await match.store.release(stalled, after: nil, seen: 1, by: SendingFixture.soon)))
        let held = try await match.store.renew(
            [stalled.key: stalled.epoch],
            lease: .seconds(10),
            by: SendingFixture.soon
        )
        #expect(held.isEmpty)
        let renewed = try await match.store.renew(
            [successor.key: successor.epoch],
            lease: .seconds(10),
            by: SendingFixture.soon
        )
        #expect(renewed == [successor.key])
        let rest = try await read(successor, match)
        #expect(rest.rows.count == 5)
    }

    @Test("a version that comes while a turn ends makes the target due again at once")
    func eventDuringFinish() async throws {
        let match = try await SendingFixture(store: TestDatabase.current.store())
        try await match.register([try match.registration("a")])
        try await match.event("1")
        var record = try #require(try await match.claim().first)
        let page = try await read(record, match)
        record.sweep = try plan(record, page).after
        try await match.event("2")
        _ = try await match.store.finishTurn(
            record,
            PageResult(),
            turn: turn(record, page),
            isDurable: true,
            by: SendingFixture.soon
        )
        let again = try #require(try await match.claim().first)
        #expect(again.sweep.reached == 1)
        // A release that was decided by version 1 gives way to version 2 as well.
        _ = try await match.store.release(again, after: .seconds(600), seen: 1, by: SendingFixture.soon)
        #expect(try await match.claim().count == 1)
    }

    @Test("a paced target waits; a key event brings it forward, a routine one does not")
    func keyBringsForward() async throws {
        let match = try await SendingFixture(store: TestDatabase.current.store())
        try await match.register([try match.registration("a")])
        try await match.event("1")
        let record = try #require(try await match.claim().first)
        try await match.store.release(record, after: .seconds(600), seen: 1, by: SendingFixture.soon)
        try await match.event("2")
        #expect(try await match.claim().isEmpty)
        try await match.event("3", importance: .key)
        #expect(try await match.claim().count == 1)
    }

    @Test("a version is stamped once, strictly above the last")
    func stamps() async throws {
        let match = try await SendingFixture(store: TestDatabase.current.store())
        try await match.event("1")
        let soon = SendingFixture.soon
        let state = try #require(try await match.store.matchState(match.key, in: .production, by: soon))
        #expect(!state.isStamped)
        let stamped = try #require(try await match.store.stamp(state, with: 100, by: soon))
        #expect(stamped.isStamped && stamped.lastStamp == 100)
        #expect(try await match.store.stamp(state, with: 200, by: soon) == nil)
        #expect(try await match.value("SELECT last_stamp FROM matches") == "100")
        for number in 2...5 { try await match.event("\(number)") }
        let newer = try #require(try await match.store.matchState(match.key, in: .production, by: soon))
        #expect(try await match.store.stamp(state, with: 300, by: soon) == nil)
        #expect(try #require(try await match.store.stamp(newer, with: 101, by: soon)).isStamped)
        #expect(try await match.value("SELECT merged_versions FROM matches") == "3")
    }

    @Test("a stamp that waits for a page sees whom that leaves to its straggler")
    func stampBehindPage() async throws {
        let match = try await SendingFixture(store: TestDatabase.current.store())
        try await match.register([try match.registration("a")])
        try await match.event("1")
        let soon = SendingFixture.soon
        let state = try #require(try await match.store.matchState(match.key, in: .production, by: soon))
        let stamping = try await match.store.ownerTransaction(by: soon) { connection in
            _ = try await connection.pipeline(
                [
                    PGStatement("SELECT 1 FROM matches FOR SHARE"),
                    PGStatement("UPDATE activities SET registered_xid = pg_current_xact_id()"),
                ],
                by: soon
            )
            let stamping = Task { try await match.store.stamp(state, with: 100, by: soon) }
            let waits =
                "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%FOR UPDATE%'"
            while try await match.value(waits) == "0" {}
            return stamping
        }
        _ = try #require(try await stamping.value)
        let seen = "SELECT pg_visible_in_snapshot(registered_xid, stamp_snapshot)::text FROM activities, matches"
        #expect(try await match.value(seen) == "true")
    }

    @Test("dead tokens go unless they were registered since; refused ones are set aside until they register again")
    func tokenOutcomes() async throws {
        let match = try await SendingFixture(store: TestDatabase.current.store())
        try await match.register(["a", "b", "c"].map { try match.registration($0) })
        try await match.event("1")
        let record = try #require(try await match.claim().first)
        let page = try await read(record, match)
        var result = PageResult()
        result.dead = [
            (page.rows[0], page.state.now + .seconds(60)), (page.rows[1], page.state.now - .seconds(3600)),
        ]
        result.refused = [(page.rows[2], "BadDeviceToken")]
        _ = try await match.store.commitPage(record, result, by: SendingFixture.soon)
        #expect(try await match.value("SELECT string_agg(activity, ',' ORDER BY activity) FROM activities") == "b,c")
        #expect(try await read(record, match).rows.map(\.activity.text) == ["b"])
        try await match.register([try match.registration("c")])
        #expect(Set(try await read(record, match).rows.map(\.activity.text)) == ["b", "c"])
    }
}
