import Core
import Store
import TestSupport
import Testing

@Suite("Accepting events", .database, .timeLimit(.minutes(5)))
struct EventStoreTests {
    @Test("the same id and body again is answered alike; with another body it is a conflict")
    func idempotency() async throws {
        let match = try await SendingFixture(store: TestDatabase.current.store())
        #expect(try await match.event("e1") == .accepted(version: 1, replayed: false))
        #expect(try await match.event("e2") == .accepted(version: 2, replayed: false))
        #expect(try await match.event("e1") == .accepted(version: 1, replayed: true))
        #expect(try await match.event("e1", body: [2]) == .conflict)
        #expect(try await match.value("SELECT version FROM matches") == "2")
    }

    @Test("an event that happened before the newest is kept and not sent; corrections and ends are exempt")
    func order() async throws {
        let match = try await SendingFixture(store: TestDatabase.current.store())
        let noon = Timestamp(seconds: 1_790_000_000)
        try await match.event("e5", sequence: 5)
        #expect(try await match.event("e4", sequence: 4) == .superseded(version: 1, replayed: false))
        #expect(try await match.event("e4", sequence: 4) == .superseded(version: 1, replayed: true))
        #expect(try await match.event("e5b", sequence: 5) == .accepted(version: 2, replayed: false))
        #expect(try await match.event("c", kind: .correction, sequence: 1) == .accepted(version: 3, replayed: false))
        #expect(try await match.event("e4b", sequence: 4) == .superseded(version: 3, replayed: false))
        #expect(try await match.event("t1", occurredAt: noon) == .accepted(version: 4, replayed: false))
        let before = Timestamp(seconds: 1_789_999_999)
        #expect(try await match.event("t0", occurredAt: before) == .superseded(version: 4, replayed: false))
        #expect(try await match.event("none") == .accepted(version: 5, replayed: false))
        #expect(try await match.value("SELECT content_state FROM matches") == #"{"home":1}"#)
    }

    @Test("an end is held; what comes meanwhile folds in; what comes after is ignored")
    func end() async throws {
        let match = try await SendingFixture(store: TestDatabase.current.store())
        #expect(try await match.event("full-time", kind: .end) == .accepted(version: 1, replayed: false))
        #expect(try await match.event("late goal", state: #"{"home":2}"#) == .accepted(version: 2, replayed: false))
        #expect(try await match.store.end(match.key, by: SendingFixture.soon) == 3)
        #expect(try await match.store.end(match.key, by: SendingFixture.soon) == nil)
        #expect(try await match.event("later") == .ignored(version: 3, replayed: false))
        #expect(try await match.event("full-time", kind: .end) == .accepted(version: 1, replayed: true))
        #expect(try await match.value("SELECT status FROM matches") == "ended")
        #expect(try await match.value("SELECT content_state FROM matches") == #"{"home":2}"#)
    }

    @Test("a correction takes back a pending alert, or brings its own")
    func alerts() async throws {
        let match = try await SendingFixture(store: TestDatabase.current.store())
        try await match.event("goal", importance: .key, alert: #"{"title":"Goal!"}"#)
        #expect(try await match.value("SELECT alert FROM matches") == #"{"title":"Goal!"}"#)
        try await match.event("clock")
        #expect(try await match.value("SELECT alert FROM matches") == #"{"title":"Goal!"}"#)
        try await match.event("var", kind: .correction, importance: .key)
        #expect(try await match.value("SELECT alert FROM matches") == nil)
    }

    @Test("lines of many matches are answered in the order given")
    func lines() async throws {
        let store = TestDatabase.current.store()
        let first = try await SendingFixture(store: store, match: "a")
        let second = try await SendingFixture(store: store, match: "b")
        func line(_ match: String, _ id: String) -> IncomingEvent {
            IncomingEvent(
                match: MatchID(unchecked: match),
                event: FeedEvent(id: EventID(unchecked: id), contentState: RawJSON(text: "{}")),
                bodyDigest: [1]
            )
        }
        let answers = try await store.accept(
            [line("b", "1"), line("a", "1"), line("nowhere", "1"), line("b", "2"), line("a", "1")],
            tenant: first.tenant,
            by: SendingFixture.soon
        )
        #expect(
            answers.map(\.answer) == [
                .accepted(version: 1, replayed: false), .accepted(version: 1, replayed: false), .matchNotFound,
                .accepted(version: 2, replayed: false), .accepted(version: 1, replayed: true),
            ]
        )
        #expect(try await second.event("3") == .accepted(version: 3, replayed: false))
    }

    @Test("another tenant's match is not found")
    func isolation() async throws {
        let store = TestDatabase.current.store()
        let match = try await SendingFixture(store: store, tenant: "t_one", match: "m")
        let other = try #require(TenantID(validating: "t_two"))
        let answer = try await store.accept(
            FeedEvent(id: EventID(unchecked: "e"), contentState: RawJSON(text: "{}")),
            bodyDigest: [1],
            match: match.match,
            tenant: other,
            by: SendingFixture.soon
        )
        #expect(answer.answer == .matchNotFound)
    }

    @Test("events at once from many callers each get a version of their own")
    func concurrency() async throws {
        let match = try await SendingFixture(store: TestDatabase.current.store(limit: 8))
        let versions = try await withThrowingTaskGroup(of: Int64?.self) { group in
            for number in 0..<40 {
                group.addTask {
                    guard case .accepted(let version, false) = try await match.event("e\(number)") else { return nil }
                    return version
                }
            }
            return try await group.reduce(into: [Int64]()) { versions, version in
                if let version { versions.append(version) }
            }
        }
        #expect(versions.sorted() == Array(1...40))
    }
}
