import APNsProtocol
import Core
import PostgreSQL
import Store
import TestSupport
import Testing

@Suite("An update token under two activities", .database, .timeLimit(.minutes(5)))
struct OneTokenTests {
    private func activities(_ match: SendingFixture) async throws -> String? {
        try await match.value(
            "SELECT string_agg(match_id || '/' || activity, ' ' ORDER BY match_id, activity) FROM activities"
        )
    }

    @Test("is the newer one's, within a match and over two")
    func newest() async throws {
        let store = TestDatabase.current.store()
        let (first, second) = (
            try await SendingFixture(store: store), try await SendingFixture(store: store, match: "m2")
        )
        try await first.register([try first.registration("a", token: "aa"), try first.registration("b", token: "bb")])
        try await first.register([try first.registration("c", token: "aa")])
        #expect(try await activities(first) == "final/b final/c")
        try await second.register([try second.registration("a", token: "aa")])
        #expect(try await activities(first) == "final/b m2/a")
        // And back: the newest, and not the first of an order.
        try await first.register([try first.registration("c", token: "aa")])
        #expect(try await activities(first) == "final/b final/c")
    }

    @Test("is the later one's of a call")
    func oneCall() async throws {
        let match = try await SendingFixture(store: TestDatabase.current.store())
        for order in [["b", "a", "c"], ["c", "b", "a"], ["a", "c", "b"]] {
            let answers = try await match.register(try order.map { try match.registration($0, token: "aa") })
            #expect(answers.count == 3)
            #expect(try await activities(match) == "final/\(order[2])")
        }
    }

    @Test("is two where its environments are, or its tenants")
    func others() async throws {
        let store = TestDatabase.current.store()
        let match = try await SendingFixture(store: store)
        let other = try await SendingFixture(store: store, tenant: "t_other", match: "m2")
        _ = try await store.owner(
            by: SendingFixture.soon,
            """
            INSERT INTO apps (tenant_id, bundle, environment, team_id, key_id, p8_ciphertext, key_fingerprint)
            SELECT tenant_id, bundle, 'sandbox', team_id, key_id, p8_ciphertext, key_fingerprint FROM apps
            WHERE tenant_id = 't_acme'
            """
        )
        try await match.register([try match.registration("a", token: "aa")])
        try await match.register([try match.registration("b", token: "aa", environment: .sandbox)])
        try await other.register([try other.registration("a", token: "aa")])
        #expect(try await activities(match) == "final/a final/b m2/a")
    }

    @Test("takes what waited for the older one along, and the books say so")
    func straggler() async throws {
        let store = TestDatabase.current.store()
        let (first, second) = (
            try await SendingFixture(store: store), try await SendingFixture(store: store, match: "m2")
        )
        try await first.event("1")
        try await first.register([try first.registration("a", token: "aa", shown: 0)])
        #expect(try await first.value("SELECT count(*) FROM stragglers") == "1")
        try await second.register([try second.registration("a", token: "aa")])
        #expect(try await first.value("SELECT count(*) FROM stragglers") == "0")
        #expect(try await first.value("SELECT removed FROM turns WHERE kind = 'stragglers'") == "1")
        #expect(try await store.sumsOff(limit: 10, by: SendingFixture.soon) == [])
    }

    @Test("stays one's, whatever bulks in opposite orders do at once, and none of them fails", arguments: 0..<3)
    func opposite(round: Int) async throws {
        let store = TestDatabase.current.store(limit: 8)
        let matches = [
            try await SendingFixture(store: store, match: "m1"), try await SendingFixture(store: store, match: "m2"),
        ]
        for match in matches { try await match.event("1") }
        let tokens = (0..<60).map { String(0x1000 + $0, radix: 16) }
        func bulk(_ match: Int, _ name: String, _ numbers: [Int]) throws -> [(MatchID, ActivityRegistration)] {
            try numbers.map { number in
                let fixture = matches[number % 2 == 0 ? match : 1 - match]
                return (fixture.match, try fixture.registration("\(name)\(number)", token: tokens[number], shown: 0))
            }
        }
        try await withThrowingDiscardingTaskGroup { group in
            for writer in 0..<6 {
                let order = writer % 2 == 0 ? Array(0..<60) : Array((0..<60).reversed())
                for pass in 0..<3 {
                    // Under ids of their own, and under common ones.
                    let name = pass == 0 ? "w\(writer)-" : "w\(writer % 3)-"
                    let calls = try bulk((writer + pass) % 2, name, order)
                    group.addTask {
                        let answers = try await store.register(calls, of: matches[0].tenant, by: SendingFixture.soon)
                        #expect(answers.count == 60)
                    }
                }
            }
        }
        #expect(
            try await matches[0].value("SELECT count(*) || ' ' || count(DISTINCT token) FROM activities") == "60 60"
        )
        let orphans = """
            SELECT count(*) FROM stragglers s WHERE NOT EXISTS (SELECT FROM activities a
                WHERE (a.tenant_id, a.match_id, a.activity) = (s.tenant_id, s.match_id, s.activity))
            """
        #expect(try await matches[0].value(orphans) == "0")
        #expect(try await store.sumsOff(limit: 10, by: SendingFixture.soon) == [])
    }
}
