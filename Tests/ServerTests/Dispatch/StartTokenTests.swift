import APNsProtocol
import Core
import Server
import Store
import TestSupport
import Testing

@Suite("A phone whose push-to-start token changes while it is started", .database, .timeLimit(.minutes(5)))
struct StartTokenTests {
    @Test(
        "is started with the new one if APNs refuses the old one, whichever word comes first, and never twice",
        arguments: [
            (#"{"status":410,"reason":"Unregistered"}"#, [2: 1], "accepted"),
            (#"{"status":400,"reason":"BadDeviceToken"}"#, [2: 1], "accepted"),
            (#"{"lost_answer":true}"#, [1: 1], "unknown"), (#"{"delay_ms":1}"#, [1: 1], "accepted"),
        ],
        ["sent", "recorded", "settled"]
    )
    func rotates(fault: (answer: String, starts: [Int: Int], state: String), when: String) async throws {
        var options = EngineFixture.Options.starts()
        options.faults = #"{"rules":[{"on":{"token":"\#(TestTokens.token(1))"},"do":\#(fault.answer)}]}"#
        try await EngineFixture.run(options) { engine in
            try await engine.put("d", token: 1, ["team:a"])
            try await engine.planStarts()
            let steps = WakeCounter()
            let dispatcher = engine.successor(options) { configuration in
                configuration.startStep = { step in
                    guard step == when, steps.value == 0 else { return nil }
                    steps.add()
                    do { try await engine.put("d", token: 2, ["team:a"]) } catch { Issue.record(error) }
                    return nil
                }
            }
            try await withThrowingDiscardingTaskGroup { group in
                group.addTask { await dispatcher.run() }
                let isRefused = when == "settled" && fault.starts[2] != nil
                try await engine.until(
                    "SELECT state = '\(isRefused ? "refused" : fault.state)' FROM starts",
                    within: .seconds(30)
                )
                if when == "settled" {
                    try await engine.put("d", token: 2, ["team:a"])
                    try await engine.until("SELECT state = '\(fault.state)' FROM starts", within: .seconds(30))
                }
                try await engine.until("SELECT lease_owner IS NULL AND due_at IS NULL FROM start_passes")
                await dispatcher.drain(by: .patient)
                group.cancelAll()
            }
            let starts = await engine.pushes().mapValues(\.count)
            let expected = fault.starts.map { (TestTokens.token($0.key), $0.value) }
            #expect(starts == Dictionary(uniqueKeysWithValues: expected))
        }
    }

    @Test("is started with the new one too if it had none for a while, waiting for a start that was to come later")
    func hadNone() async throws {
        var options = EngineFixture.Options.starts(dispatches: true)
        options.faults = """
            {"rules":[{"on":{"token":"\(TestTokens.token(1))"},
            "do":{"status":503,"reason":"ServiceUnavailable","retry_after":"60"}}]}
            """
        try await EngineFixture.run(options) { engine in
            try await engine.put("d", token: 1, ["team:a"])
            try await engine.planStarts()
            try await engine.until("SELECT state = 'waiting' AND due_at > now() FROM starts")
            _ = try await engine.store.owner(by: EngineFixture.soon, "UPDATE devices SET push_to_start_token = NULL")
            try await engine.pass("100 seconds")
            engine.bell.ring()
            try await engine.until("SELECT state = 'refused' FROM starts")
            try await engine.put("d", token: 2, ["team:a"])
            try await engine.until("SELECT state = 'accepted' FROM starts", within: .seconds(30))
            #expect(await engine.pushes().mapValues(\.count) == [TestTokens.token(2): 1])
        }
    }
}
