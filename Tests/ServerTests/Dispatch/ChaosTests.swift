import Core
import Server
import TestSupport
import Testing

@Suite("Two dispatchers among events, rotations and faults", .database, .timeLimit(.minutes(5)))
struct ChaosTests {
    private static let faults = [
        """
        {"rules":[{"on":{"route":"device","share":0.03,"times":40},"do":{"status":503,
        "reason":"ServiceUnavailable","retry_after":"1"}},
        {"on":{"route":"device","share":0.02,"times":20},"do":{"reset":"REFUSED_STREAM"}}]}
        """,
        """
        {"rules":[{"on":{"route":"device","times":3},"do":{"goaway":{"after_streams":20,"last_stream":21,
        "debug":"{}"}}},{"on":{"route":"device","share":0.01,"times":10},"do":{"reset":"INTERNAL_ERROR"}}]}
        """,
        #"{"rules":[{"on":{"route":"device","share":0.01,"times":3},"do":{"close":true}}]}"#,
    ]

    @Test("every phone ends on the newest state, and its stamps never fall", arguments: 0..<6)
    func converges(seed: UInt64) async throws {
        var options = EngineFixture.Options()
        options.app = "UPDATE apps SET channels = 'single', frequent_gap_seconds = 0, standard_gap_seconds = 1"
        options.faults = Self.faults[Int(seed) % Self.faults.count]
        try await EngineFixture.run(options) { engine in
            let other = engine.successor(options)
            let running = Task { await other.run() }
            var random = SplitMix(state: seed)
            try await engine.register(1...60)
            var home = 0
            for _ in 0..<40 {
                switch Int.random(in: 0..<10, using: &random) {
                case 0..<4:
                    home += 1
                    let isKey = Bool.random(using: &random)
                    try await engine.event(
                        home,
                        importance: isKey ? .key : .routine,
                        alert: isKey ? "Goal \(home)" : nil
                    )
                case 4..<7:
                    // The same phone again, with the other setting: its row moves to the other shard.
                    let phone = Int.random(in: 1...60, using: &random)
                    try await engine.register(phone...phone, frequent: Bool.random(using: &random))
                default:
                    await WakeUp().wait(atMost: .milliseconds(Int.random(in: 1..<40, using: &random)))
                }
            }
            try await engine.event(home + 1, importance: .key)
            try await engine.untilSettled(within: .seconds(120))
            running.cancel()
            await running.value

            let newest = #"{"home":\#(home + 1)}"#
            for phone in 1...60 {
                let shown = await engine.shown(on: phone)
                #expect(shown == newest, "phone \(phone)")
            }
            let stamps = Dictionary(grouping: await engine.pushes().values.flatMap { $0 }, by: \.stamp)
            #expect(stamps.values.allSatisfy { Set($0.map(\.home)).count == 1 })
            #expect(try await engine.value("SELECT max(reached_version) - min(reached_version) FROM targets") == "0")
        }
    }
}
