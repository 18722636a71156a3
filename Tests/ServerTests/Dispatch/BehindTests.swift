import APNsSimulator
import Core
import Store
import TestSupport
import Testing

@testable import Server

@Suite("What a match says while it is behind", .database, .timeLimit(.minutes(5)))
struct BehindTests {
    private static let stalls: [(fault: String, answer: String)] = [
        (#"{"status":503,"reason":"ServiceUnavailable","retry_after":"1"}"#, "ServiceUnavailable, retry-after 1 s"),
        (#"{"status":500,"reason":"SomethingNewAtApple"}"#, "SomethingNewAtApple"),
    ]

    @Test("how many phones are, since when, and what APNs answered last in its own words", arguments: 0..<2)
    func stalled(number: Int) async throws {
        let stall = Self.stalls[number]
        var options = EngineFixture.Options()
        options.faults = #"{"rules":[{"on":{"route":"device"},"do":\#(stall.fault)}]}"#
        try await EngineFixture.run(options) { engine in
            try await engine.register(1...30)
            try await engine.event(1, importance: .key)
            try await engine.until("EXISTS (SELECT FROM last_answers)")
            let deliveries = try #require(try await engine.store.deliveries(of: engine.key, by: EngineFixture.soon))
            let line = try #require(deliveries.sends.last)
            #expect(line.behind == 30 && line.lastAnswer?.text == stall.answer && line.state != .done)
            // Since the event, also when a later one has come meanwhile.
            let since = try #require(line.behindSince)
            try await engine.event(2, importance: .key)
            let later = try #require(try await engine.store.deliveries(of: engine.key, by: EngineFixture.soon))
            let newest = try #require(later.sends.last)
            #expect(newest.behindSince == since)
            #expect(newest.toVersion == 2)

            await engine.simulator.clearFaults()
            try await engine.untilSettled()
            let settled = try #require(try await engine.store.deliveries(of: engine.key, by: EngineFixture.soon))
            #expect(settled.sends.allSatisfy { $0.behind == 0 && $0.behindSince == nil && $0.lastAnswer == nil })
            #expect(settled.sends.allSatisfy { $0.state == .done })
        }
    }

    @Test("and says none where nothing is due, since somebody paused it")
    func paused() async throws {
        try await EngineFixture.run { engine in
            try await engine.register(1...3)
            _ = try await engine.value("UPDATE matches SET paused_at = now() RETURNING 'x'")
            try await engine.event(1, importance: .key)
            try await engine.until("(SELECT bool_and(due_at IS NULL) FROM targets)")
            let deliveries = try #require(try await engine.store.deliveries(of: engine.key, by: EngineFixture.soon))
            let line = try #require(deliveries.sends.last)
            #expect(line.behind == 3 && line.behindSince != nil && line.lastAnswer == nil && line.state == .waiting)
        }
    }
}
