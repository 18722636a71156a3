import APNsSimulator
import Core
import Log
import Store
import TestSupport
import Testing

@testable import Server

@Suite("A match that is behind, in the log", .database, .timeLimit(.minutes(5)))
struct StallLogTests {
    /// A minute passes for what has happened so far.
    private func age(_ engine: EngineFixture) async throws {
        for table in ["events SET received_at = received_at", "matches SET accepted_at = accepted_at"] {
            _ = try await engine.store.owner(by: .patient, "UPDATE \(table) - interval '90 seconds'")
        }
        let phones = "UPDATE stragglers SET first_at = first_at - interval '90 seconds'"
        _ = try await engine.store.owner(by: .patient, phones)
    }

    /// Thirty are a page's failure; three are few, and get pushes of their own.
    @Test("is said after a minute, with what APNs answered, and that it has caught up", arguments: [30, 3])
    func stalled(phones: Int) async throws {
        let log = LogFixture()
        var options = EngineFixture.Options()
        options.pageSize = 60
        options.faults = """
            {"rules":[{"on":{"route":"device"},"do":{"status":500,"reason":"SomethingNewAtApple"}}]}
            """
        try await EngineFixture.run(options) { engine in
            var reporter = BehindReporter(store: engine.store, log: log.logger("housekeeping"))
            try await engine.register(1...phones)
            try await engine.event(1, importance: .key)
            try await engine.until("EXISTS (SELECT FROM last_answers)")
            await reporter.look(by: .patient)
            #expect(log.all() == [])

            try await age(engine)
            try await engine.until("EXISTS (SELECT FROM stragglers) OR EXISTS (SELECT FROM targets WHERE backoff > 0)")
            await reporter.look(by: .patient)
            await reporter.look(by: .patient)
            let line = try #require(log.all().first)
            #expect(log.all().count == 1)
            #expect(line.contains("warning housekeeping: a match is behind; tenant=t_acme match=final since=2"))
            #expect(line.contains("last_answer=SomethingNewAtApple"))
            // Of a whole shard no push succeeded, however small it is: that is an outage, and the shard waits.
            #expect(line.contains("channels=0 shards=1 phones=0"), "\(line)")
            // The gauge counts the same, without the minute.
            let found = try await engine.store.behindMatches(for: .zero, limit: 1, by: .patient)
            #expect(found.matches.first.map { found.now - $0.since >= .seconds(90) } == true)

            await engine.simulator.clearFaults()
            _ = try await engine.value("UPDATE stragglers SET due_at = now() RETURNING 'x'")
            try await engine.untilSettled()
            await reporter.look(by: .patient)
            #expect(
                log.all().last?.contains("info housekeeping: a match has caught up; tenant=t_acme match=final") == true
            )
            let none = try await engine.store.behindMatches(for: .zero, by: .patient)
            #expect(none.matches.isEmpty && none.isComplete)
        }
    }

    @Test("is not said of what a pause or pacing holds back, nor of a few phones among many")
    func lawful() async throws {
        var options = EngineFixture.Options()
        options.dispatches = false
        try await EngineFixture.run(options) { engine in
            try await engine.register(1...30)
            try await engine.event(1)
            func behind() async throws -> [BehindMatch] {
                try await age(engine)
                return try await engine.store.behindMatches(for: .seconds(60), by: .patient).matches
            }
            let held = "UPDATE targets SET due_at = now() + interval '10 seconds' RETURNING 'x'"
            _ = try await engine.value(held)
            #expect(try await behind().isEmpty)
            _ = try await engine.value("UPDATE targets SET due_at = NULL RETURNING 'x'")
            #expect(try await behind().isEmpty)
            let few = """
                INSERT INTO stragglers (tenant_id, match_id, activity, version)
                SELECT tenant_id, match_id, activity, 1 FROM activities LIMIT 2 RETURNING 'x'
                """
            _ = try await engine.store.owner(by: .patient, few)
            #expect(try await behind().isEmpty)
            _ = try await engine.value("UPDATE targets SET due_at = now() - interval '61 seconds' RETURNING 'x'")
            #expect(try await behind().map(\.shards) == [1])
        }
    }
}
