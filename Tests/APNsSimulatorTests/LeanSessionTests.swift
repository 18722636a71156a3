import Testing

@testable import APNsSimulator

/// What a peer must not send, from its first byte on, and the error code of the answer.
private let brokenConnections: [(bytes: [UInt8], code: Int)] = {
    let start = LeanSession.preface + LeanBench.frame(4)
    return [
        (Array("GET / HTTP/1.1\r\n".utf8), 1), (LeanSession.preface + LeanBench.push(1), 1),
        (start + LeanBench.frame(9, stream: 1), 1), (start + LeanBench.push(2), 1),
        (start + LeanBench.frame(8, [0, 0, 0, 0]), 1), (start + [0, 0x40, 1, 0, 0, 0, 0, 0, 1], 6),
        (start + [0, 0x40, 1, 4, 0, 0, 0, 0, 0], 6), (start + LeanBench.frame(5, stream: 1), 1),
    ]
}()

@Suite("A lean listener's end of a connection")
struct LeanSessionTests {
    private typealias Bench = LeanBench

    @Test("answers each push, however its bytes are cut", arguments: [1, 2, 8, 9, 10, 100, 5000, .max])
    func pieces(size: Int) throws {
        let service = try Bench.SimulatedFaults()
        let bench = Bench(service)
        let start = bench.feed(LeanSession.preface + Bench.frame(4) + Bench.frame(4, flags: 1), by: size)
        #expect(start == ["SETTINGS", "SETTINGS ack"])
        let pushes = (0..<20).flatMap { Bench.push(2 * $0 + 1, bodies: $0 % 3 == 0 ? [] : [402]) }
        let expected = (0..<20).map { "HEADERS \(2 * $0 + 1) 200 end" }
        #expect(bench.feed(pushes, by: size) == expected)
        #expect(service.counts.arrived == 20)
        #expect(service.counts.answers == ["200": 20])
    }

    @Test("gives credit when half of the window is used, and at once within a body of several frames")
    func credit() throws {
        let bench = Bench(try Bench.SimulatedFaults())
        bench.begin()
        #expect(bench.feed(Bench.push(1, bodies: [16_000, 1])) == ["WINDOW_UPDATE 1 16000", "HEADERS 1 200 end"])
        #expect(bench.feed(Bench.push(3, bodies: [16_384])) == ["HEADERS 3 200 end"])
        #expect(bench.feed(Bench.push(5, bodies: [383])) == ["HEADERS 5 200 end", "WINDOW_UPDATE 0 32768"])
    }

    @Test("acknowledges SETTINGS and PING; frames that nobody knows pass")
    func control() throws {
        let bench = Bench(try Bench.SimulatedFaults())
        bench.begin()
        let ping = [UInt8](repeating: 7, count: 8)
        let settings = Bench.frame(4, [0, 4, 0, 0, 0, 9])
        let others = Bench.frame(0xFA, [1]) + Bench.frame(2, stream: 1, [0, 0, 0, 0, 1])
        let bytes = settings + Bench.frame(6, ping) + others + Bench.frame(6, flags: 1, ping)
        #expect(bench.feed(bytes, by: 3) == ["SETTINGS ack", "PING ack"])
    }

    @Test("a stream over a limit that may not be known yet is refused; over a known one the connection ends")
    func streamLimit() throws {
        let service = try Bench.SimulatedFaults()
        let bench = Bench(service, streams: 1)
        bench.feed(LeanSession.preface + Bench.frame(4))
        #expect(bench.feed(Bench.frame(1, flags: 4, stream: 1, [0x83]) + Bench.push(3)) == ["RESET 3 7"])
        #expect(bench.feed(Bench.frame(0, flags: 1, stream: 1)) == ["HEADERS 1 200 end", "SETTINGS"])
        bench.feed(Bench.frame(4, flags: 1) + Bench.frame(4, flags: 1))
        let many = (2..<1003).flatMap { Bench.frame(1, flags: 4, stream: 2 * $0 + 1, [0x83]) }
        let text = "Maximum active streams violated for this endpoint."
        #expect(bench.feed(many) == ["GOAWAY 2005 code 7 \(text)"])
        #expect(service.counts.streamLimitBroken == 2)
        #expect(bench.session.state == .over)
    }

    @Test("a body waits for the peer's window")
    func flowControl() throws {
        let service = try Bench.SimulatedFaults(#"{"rules":[{"do":{"status":503,"body_bytes":20000}}]}"#)
        let bench = Bench(service)
        bench.feed(LeanSession.preface + Bench.frame(4, [0, 4, 0, 0, 0, 9]) + Bench.frame(4, flags: 1))
        #expect(bench.feed(Bench.push(1)) == ["HEADERS 1 503", "DATA 1 9"])
        let more = Bench.frame(8, stream: 1, Bench.number(100_000))
        #expect(bench.feed(more) == ["DATA 1 16384", "DATA 1 3607 end"])
        #expect(bench.session.streams.count == 0)
    }

    @Test(
        "ends a connection that breaks the protocol, with the code that says how",
        arguments: brokenConnections.indices
    )
    func broken(index: Int) throws {
        let bench = Bench(try Bench.SimulatedFaults())
        let output = bench.feed(brokenConnections[index].bytes)
        #expect(output.last?.contains("code \(brokenConnections[index].code)") == true)
        #expect(bench.session.state == .over)
    }

    @Test("survives frames that are bent at random")
    func fuzz() throws {
        var generator = SeededGenerator(seed: 5)
        let service = try Bench.SimulatedFaults(
            #"{"rules":[{"on":{"share":0.2},"do":{"status":410,"reason":"Unregistered"}}]}"#,
            configure: { ($0.countsDoubles, $0.countsOrder) = (true, true) }
        )
        let block: [UInt8] = [0x83, 0x40, 7] + Array("apns-id".utf8) + [3, 1, 2, 3, 0xBE, 0xBF, 0x04, 2, 1, 2]
        for _ in 0..<2000 {
            let bench = Bench(service)
            bench.begin()
            var bytes = (0..<8).flatMap { Bench.push(2 * $0 + 1, block: block, bodies: [20, 5]) }
            for _ in 0..<4 {
                bytes[Int.random(in: 0..<bytes.count, using: &generator)] = UInt8.random(in: 0...255, using: &generator)
            }
            bench.feed(bytes, by: Int.random(in: 1...40, using: &generator))
        }
        #expect(service.counts.arrived > 0)
    }
}
