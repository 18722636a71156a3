import APNsSimulator
import Core
import Store
import TestSupport
import Testing

@testable import Server

@Suite("An outage at APNs", .database, .timeLimit(.minutes(5)))
struct OutageTests {
    private static let faults = [
        #"{"status":503,"reason":"ServiceUnavailable"}"#, #"{"status":500,"reason":"InternalServerError"}"#,
    ]

    private static func options(_ fault: String) -> EngineFixture.Options {
        var options = EngineFixture.Options()
        options.app = "UPDATE apps SET channels = 'single'"
        options.faults =
            #"{"rules":[{"on":{"route":"device"},"do":\#(fault)},{"on":{"route":"broadcast"},"do":\#(fault)}]}"#
        return options
    }

    private func requests(_ engine: EngineFixture) async -> Int {
        let requests = await engine.simulator.counts.requests
        return requests["device", default: 0] + requests["broadcast", default: 0]
    }

    @Test("over several goals and the end costs few pushes, and the end is everywhere soon after it", arguments: 0..<2)
    func fullTime(number: Int) async throws {
        try await EngineFixture.run(Self.options(Self.faults[number])) { engine in
            try await engine.until("SELECT state = 'open' FROM channels")
            try await engine.register(1...60)
            for home in 1...4 {
                try await engine.event(home, importance: .key, alert: "Goal \(home)")
                try await engine.until(
                    "(SELECT count(*) = 2 FROM outages) AND (SELECT bool_and(lease_until IS NULL) FROM targets)"
                )
            }
            try await engine.event(5, kind: .end, importance: .key)
            try await engine.until("(SELECT count(*) FILTER (WHERE probes > 0) = 2 FROM outages)")
            // Two pages of tokens may be under way when it begins; then it is a push a goal and target, and the probes.
            let sent = await requests(engine)
            #expect(sent <= 80, "\(sent) pushes")

            await engine.simulator.clearFaults()
            let begin = ContinuousClock.now
            try await engine.untilSettled()
            #expect(begin.duration(to: .now) < .seconds(30))
            let pushes = await engine.pushes()
            #expect(pushes.count == 61 && pushes.values.allSatisfy { $0.last?.event == "end" && $0.last?.home == 5 })
            #expect(try await engine.value("SELECT count(*) FROM outages") == "0")
        }
    }

    @Test("goes on where a process that dies in it left it")
    func restart() async throws {
        var options = Self.options(Self.faults[0])
        options.dispatches = false
        options.lease = .seconds(1)
        try await EngineFixture.run(options) { engine in
            try await engine.until("SELECT state = 'open' FROM channels")
            try await engine.register(1...60)
            try await engine.event(1, importance: .key)
            let doomed = Task { await engine.dispatcher.run() }
            try await engine.until("(SELECT count(*) = 2 FROM outages)")
            doomed.cancel()
            await doomed.value
            try await engine.event(2, kind: .end, importance: .key)
            await engine.simulator.clearFaults()
            try await engine.dispatching(options) { try await engine.untilSettled(within: .seconds(60)) }
            let pushes = await engine.pushes()
            #expect(pushes.count == 61 && pushes.values.allSatisfy { $0.last?.home == 2 })
        }
    }

    @Test("of some phones alone holds nobody else up, whatever APNs asks of them")
    func few() async throws {
        var options = EngineFixture.Options()
        options.pageSize = 100
        let rules = (1...30).map { number in
            #"""
            {"on":{"route":"device","token":"\#(TestTokens.token(number))","times":1},
            "do":{"status":429,"reason":"TooManyRequests","retry_after":"1000000000"}}
            """#
        }
        options.faults = #"{"rules":[\#(rules.joined(separator: ","))]}"#
        try await EngineFixture.run(options) { engine in
            try await engine.register(1...100)
            try await engine.event(1, importance: .key)
            try await engine.untilPushed(70, within: .seconds(20))
            #expect(try await engine.value("SELECT count(*) FROM outages") == "0")
            let longest = "SELECT max(due_at) <= now() + interval '120 seconds' FROM stragglers"
            try await engine.until("(SELECT count(*) = 30 FROM stragglers) AND (\(longest))")
        }
    }
}
