import APNsSimulator
import EventLoop
import HTTP2
import TestSupport
import Testing

/// Over TLS and the wire, against both kinds of listener.
@Suite("A simulator whose connections and frames go wrong", .timeLimit(.minutes(1)))
struct ConnectionFaultTests {
    private func with<Result: Sendable>(
        _ lean: Bool,
        _ rule: String,
        _ body: (SimulatorBench) async throws -> Result
    ) async throws -> Result {
        try await SimulatorBench.with(faults: #"{"rules":[\#(rule)]}"#, configure: { $0.isLean = lean }, body)
    }

    @Test("connections are reset or fail their handshake as often as told, and then work", arguments: [false, true])
    func connecting(lean: Bool) async throws {
        for (action, count) in [("refuse", \SimulatorCounts.refusedConnections), ("tls_failure", \.tlsFailures)] {
            try await with(lean, #"{"on":{"times":2},"do":{"\#(action)":true}}"#) { bench in
                for _ in 0..<2 { await #expect(throws: HTTP2Error.self) { try await bench.connect() } }
                let status = try await bench.connect().answer(bench.device("01")).status
                #expect(status == 200)
                #expect(await bench.simulator.counts[keyPath: count] == 2)
            }
        }
    }

    @Test("SETTINGS come late, and the pushes that wait for them are answered", arguments: [false, true])
    func lateSettings(lean: Bool) async throws {
        try await with(lean, #"{"do":{"settings_delay_ms":150}}"#) { bench in
            let start = ContinuousClock.now
            let status = try await bench.connect().answer(bench.device("01")).status
            #expect(status == 200)
            #expect(ContinuousClock.now - start >= .milliseconds(150))
        }
    }

    @Test("a reset connection, half an answer: the push ends unknown, and is counted", arguments: [false, true])
    func unanswered(lean: Bool) async throws {
        let cases = [("tcp_reset", "close"), ("half_answer", "half_answer"), ("silence", "silence"), ("mute", "mute")]
        for (action, reason) in cases {
            try await with(lean, #"{"on":{"skip":1,"times":1},"do":{"\#(action)":true}}"#) { bench in
                let client = try await bench.connect()
                #expect(try await client.answer(bench.device("01")).status == 200)
                await #expect(throws: HTTP2Error.self) {
                    try await client.send(bench.device("02"), by: .now + .milliseconds(300))
                }
                let counts = await bench.simulator.counts
                #expect(counts.arrived == 2)
                #expect(counts.answers == ["200": 1])
                #expect(counts.unanswered[reason] == 1)
            }
        }
    }

    @Test("a connection whose streams have no window gets no body, and the next one works", arguments: [false, true])
    func withoutWindow(lean: Bool) async throws {
        try await with(lean, #"{"on":{"times":1},"do":{"no_window":true}}"#) { bench in
            let client = try await bench.connect()
            await #expect(throws: HTTP2Error.self) {
                try await client.send(bench.device("01"), by: .now + .milliseconds(300))
            }
            #expect(await bench.simulator.counts.arrived == 0)
            let status = try await bench.connect().answer(bench.device("02")).status
            #expect(status == 200)
        }
    }

    @Test("big bodies, long headers, dates and stray frames reach a client as they are", arguments: [false, true])
    func answers(lean: Bool) async throws {
        let rules = #"""
            {"do":{"unknown_frame":true}},{"do":{"date_offset":-7200}},
            {"on":{"skip":1},"do":{"status":503,"reason":"Shutdown","retry_after_date":60,"body_bytes":65536,"header_bytes":3000}}
            """#
        try await with(lean, rules) { bench in
            let client = try await bench.connect()
            let ok = try await client.answer(bench.device("01"))
            #expect(ok.status == 200)
            #expect(ok.fields["date"]?.hasSuffix(" GMT") == true)
            for _ in 0..<3 {
                let answer = try await client.answer(bench.device("02"))
                #expect(answer.status == 503)
                #expect(answer.body.count == 65_536)
                #expect(answer.text.hasPrefix(#"{"reason":"Shutdown"}"#))
                #expect(answer.fields["x-padding"]?.utf8.count == 3000)
                #expect(answer.fields["retry-after"]?.hasSuffix(" GMT") == true)
                #expect(answer.fields["retry-after"] != answer.fields["date"])
            }
        }
    }

    @Test("PUSH_PROMISE ends the connection at the client's side", arguments: [false, true])
    func pushPromise(lean: Bool) async throws {
        try await with(lean, #"{"on":{"times":1},"do":{"push_promise":true}}"#) { bench in
            let client = try await bench.connect()
            await #expect(throws: HTTP2Error.self) {
                try await client.send(bench.device("01"), by: .now + .seconds(2))
            }
            let status = try await bench.connect().answer(bench.device("02")).status
            #expect(status == 200)
        }
    }

    @Test("a stream limit that lasts a while is lifted by itself", arguments: [false, true])
    func streamLimit(lean: Bool) async throws {
        try await with(lean, #"{"on":{"times":1},"do":{"stream_limit":1,"for_ms":50}},{"do":{"delay_ms":1}}"#) {
            bench in
            let client = try await bench.connect()
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for number in 0..<100 {
                    group.addTask { try await client.answer(bench.device(TestTokens.token(number))).status }
                }
                return try await group.reduce(into: [Int: Int]()) { $0[$1, default: 0] += 1 }
            }
            #expect(statuses == [200: 100])
        }
    }

    @Test(
        "a client that is gone while a large answer is written to it ends nothing but itself",
        arguments: [false, true]
    )
    func goneWhileWriting(lean: Bool) async throws {
        try await with(lean, #"{"do":{"status":500,"body_bytes":1000000}}"#) { bench in
            for _ in 0..<10 {
                let client = try await bench.connect()
                await #expect(throws: HTTP2Error.self) {
                    try await client.send(bench.device("01"), by: .now + .milliseconds(1))
                }
                await client.close()
            }
            await bench.simulator.clearFaults()
            let status = try await bench.connect().answer(bench.device("02")).status
            #expect(status == 200)
        }
    }
}
