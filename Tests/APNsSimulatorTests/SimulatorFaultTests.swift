import APNsSimulator
import HTTP2
import TestSupport
import Testing

@Suite("A simulator told to misbehave", .timeLimit(.minutes(1)))
struct SimulatorFaultTests {
    enum Ending: Hashable, Sendable {
        case status(Int)
        case notProcessed
        case other(String)
    }

    /// Sends pushes at once over one connection, and says how each ended.
    private func send(_ count: Int, _ bench: SimulatorBench, by seconds: Int = 10) async throws -> [Ending: Int] {
        let client = try await bench.connect()
        return await withTaskGroup(of: Ending.self) { group in
            for number in 0..<count {
                group.addTask {
                    do throws(HTTP2Error) {
                        let request = bench.device(TestTokens.token(number))
                        return .status(try await client.send(request, by: .now + .seconds(seconds)).status)
                    } catch .notProcessed {
                        return .notProcessed
                    } catch {
                        return .other("\(error)")
                    }
                }
            }
            return await group.reduce(into: [:]) { $0[$1, default: 0] += 1 }
        }
    }

    @Test("GOAWAY with a last stream: those above are not processed, those below are answered", arguments: [1, 21, 97])
    func goAway(lastStream: Int) async throws {
        let rule = #"{"on":{"times":1},"do":{"goaway":{"after_streams":50,"last_stream":\#(lastStream),"debug":"x"}}}"#
        try await SimulatorBench.with(faults: #"{"rules":[\#(rule)]}"#) { bench in
            let endings = try await send(60, bench)
            let processed = (lastStream + 1) / 2
            #expect(endings == [.status(200): processed, .notProcessed: 60 - processed])
            #expect(await bench.simulator.counts.requests["device"] == processed)
            let endings60 = try await send(60, bench)
            #expect(endings60 == [.status(200): 60], "the rule is used up")
        }
    }

    @Test("streams that are held for a GOAWAY go on when too few come")
    func heldStreamsGoOn() async throws {
        let rule = #"{"do":{"goaway":{"after_streams":50,"last_stream":5}}}"#
        try await SimulatorBench.with(faults: #"{"rules":[\#(rule)]}"#) { bench in
            let endings20 = try await send(20, bench)
            #expect(endings20 == [.status(200): 20])
        }
    }

    @Test("REFUSED_STREAM for some, and nothing of them is counted")
    func refusedStreams() async throws {
        let rule = #"{"on":{"times":7,"skip":1},"do":{"reset":"REFUSED_STREAM"}}"#
        try await SimulatorBench.with(faults: #"{"rules":[\#(rule)]}"#) { bench in
            let endings40 = try await send(40, bench)
            #expect(endings40 == [.status(200): 33, .notProcessed: 7])
            #expect(await bench.simulator.counts.requests["device"] == 33)
        }
    }

    @Test("a scripted answer with retry-after and timestamp; checks come first")
    func answers() async throws {
        let rules = #"""
            {"rules":[{"on":{"token":"ab"},"do":{"status":410,"reason":"Unregistered","timestamp":1700000000123}},
             {"on":{"route":"manage"},"do":{"status":429,"reason":"TooManyRequests","retry_after":"7"}}]}
            """#
        try await SimulatorBench.with(faults: rules) { bench in
            let client = try await bench.connect()
            let gone = try await client.answer(bench.device("AB"))
            #expect(gone.status == 410)
            #expect(gone.text == #"{"reason":"Unregistered","timestamp":1700000000123}"#)
            #expect(try await client.answer(bench.device("cd")).status == 200)
            #expect(try await client.answer(bench.device("ab", ["apns-priority": "7"])).status == 400)
            let manage = try await bench.connect(.production, .manage)
            let later = try await manage.answer(bench.manage("GET", "all-channels"))
            #expect(later.fields["retry-after"] == "7")
            await bench.simulator.clearFaults()
            #expect(try await client.answer(bench.device("ab")).status == 200)
        }
    }

    @Test("a connection that goes silent answers nothing, one that closes is lost; the next one works")
    func silenceAndClosing() async throws {
        for action in ["silence", "close"] {
            let rule = #"{"on":{"times":1,"skip":1},"do":{"\#(action)":true}}"#
            try await SimulatorBench.with(faults: #"{"rules":[\#(rule)]}"#) { bench in
                let client = try await bench.connect()
                #expect(try await client.answer(bench.device("01")).status == 200)
                await #expect(throws: HTTP2Error.self) {
                    try await client.send(bench.device("02"), by: .now + .milliseconds(300))
                }
                #expect(await bench.simulator.counts.requests["device"] == 1)
                let next = try await bench.connect()
                #expect(try await next.answer(bench.device("02")).status == 200)
            }
        }
    }

    @Test("a delay holds the answer back, and the push is accepted only then")
    func delay() async throws {
        try await SimulatorBench.with(faults: #"{"rules":[{"do":{"delay_ms":200}}]}"#) { bench in
            let client = try await bench.connect()
            let start = ContinuousClock.now
            #expect(try await client.answer(bench.device("01")).status == 200)
            #expect(ContinuousClock.now - start >= .milliseconds(200))
            await #expect(throws: HTTP2Error.self) {
                try await client.send(bench.device("02"), by: .now + .milliseconds(50))
            }
            #expect(try await client.answer(bench.device("03")).status == 200)
            #expect(await bench.simulator.counts.requests["device"] == 2, "a stream that was given up is not processed")
        }
    }

    @Test("a scripted stream limit, and its end")
    func streamLimit() async throws {
        try await SimulatorBench.with(faults: #"{"rules":[{"do":{"stream_limit":1}},{"do":{"delay_ms":5}}]}"#) {
            bench in
            let endings20 = try await send(20, bench)
            #expect(endings20 == [.status(200): 20])
            #expect(await bench.simulator.counts.streamLimitBroken == 0)
        }
    }

    @Test("many bad tokens end the connection")
    func manyBadTokens() async throws {
        try await SimulatorBench.with(configure: { $0.mostBadTokens = 3 }) { bench in
            let client = try await bench.connect()
            for _ in 0..<3 { #expect(try await client.answer(bench.device("zz")).status == 400) }
            await #expect(throws: HTTP2Error.self) { try await client.answer(bench.device("01")) }
        }
    }

    @Test("a round trip of distance delays every answer")
    func roundTrip() async throws {
        try await SimulatorBench.with(configure: { $0.roundTrip = .milliseconds(100) }) { bench in
            let client = try await bench.connect()
            let start = ContinuousClock.now
            #expect(try await client.answer(bench.device("01")).status == 200)
            #expect(ContinuousClock.now - start >= .milliseconds(100))
        }
    }
}
