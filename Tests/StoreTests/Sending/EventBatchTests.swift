import Core
import PostgreSQL
import Store
import TestSupport
import Testing

@Suite("Events that come at once", .database, .timeLimit(.minutes(5)))
struct EventBatchTests {
    /// Posts to a match of its own tenant, `count` times side by side, each answer beside its number.
    private func post(_ match: SendingFixture, _ ids: [String]) async throws -> [EventAnswer] {
        try await withThrowingTaskGroup(of: EventAnswer.self) { group in
            for id in ids { group.addTask { try await match.event(id) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }

    @Test("of several tenants are all taken, in fewer transactions, each in its own tenant's match")
    func together() async throws {
        let store = TestDatabase.current.store()
        var matches: [SendingFixture] = []
        for tenant in ["t_a", "t_b", "t_c"] { matches.append(try await SendingFixture(store: store, tenant: tenant)) }
        let transactions = "SELECT pg_current_xact_id()::text"
        let before = Int(try await matches[0].value(transactions) ?? "") ?? 0
        try await withThrowingDiscardingTaskGroup { group in
            for match in matches {
                group.addTask {
                    let answers = try await post(match, (0..<100).map { "e\($0)" })
                    let versions = answers.compactMap { answer in
                        if case .accepted(let version, false) = answer { version } else { nil }
                    }
                    #expect(versions.sorted() == Array(1...100))
                }
            }
        }
        let after = Int(try await matches[0].value(transactions) ?? "") ?? 0
        #expect(after - before < 200, "\(after - before) transactions for 300 events")
        #expect(try await matches[0].value("SELECT string_agg(version::text, ' ') FROM matches") == "100 100 100")
    }

    @Test("with the same id are one event, and a match that is not there spoils none of the others")
    func twins() async throws {
        let store = TestDatabase.current.store()
        let match = try await SendingFixture(store: store)
        let answers = try await withThrowingTaskGroup(of: EventAnswer.self) { group in
            for number in 0..<60 {
                group.addTask {
                    guard number % 3 == 0 else { return try await match.event("same") }
                    return try await store.accept(
                        FeedEvent(id: EventID(unchecked: "e\(number)"), kind: .update, importance: .routine),
                        bodyDigest: [1],
                        match: MatchID(unchecked: "no-such-match"),
                        tenant: match.tenant,
                        by: SendingFixture.soon
                    ).answer
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(answers.count { $0 == .matchNotFound } == 20)
        #expect(answers.count { $0 == .accepted(version: 1, replayed: false) } == 1)
        #expect(answers.count { $0 == .accepted(version: 1, replayed: true) } == 39)
    }

    @Test("are taken though one of them waits in vain for its match")
    func lockedMatch() async throws {
        let store = TestDatabase.current.store()
        let free = try await SendingFixture(store: store)
        let locked = try await SendingFixture(store: store, match: "locked")
        let blocker = try await TestDatabase.current.connect()
        _ = try await blocker.query("BEGIN", by: SendingFixture.soon)
        _ = try await blocker.query(
            "SELECT 1 FROM matches WHERE match_id = 'locked' FOR UPDATE",
            by: SendingFixture.soon
        )
        try await withThrowingDiscardingTaskGroup { group in
            for number in 0..<2 {
                group.addTask {
                    // Their deadline ends them.
                    await #expect(throws: StoreError.self) {
                        try await locked.event("locked-\(number)", by: .now + .seconds(2))
                    }
                }
            }
            for number in 0..<20 { group.addTask { try await free.event("e\(number)") } }
        }
        #expect(try await free.value("SELECT version FROM matches WHERE match_id = 'final'") == "20")
        await blocker.close()
    }
}
