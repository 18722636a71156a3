@testable import APNsSimulator

/// A lean session without a socket: frames in, frames out as lines of text.
final class LeanBench {
    let service: SimulatedFaults
    var session: LeanSession

    /// What sessions share: rules and sums.
    struct SimulatedFaults {
        let book: FaultBook
        let sink: LeanSink

        init(_ faults: String = #"{"rules":[]}"#, configure: (inout SimulatorConfiguration) -> Void = { _ in }) throws {
            var configuration = SimulatorConfiguration()
            configuration.seed = 1
            configuration.clock = { 1_790_000_000 }
            configure(&configuration)
            book = FaultBook(generator: SeededGenerator(seed: 1))
            book.replace(try FaultRules.parse(JSONTextParser.parse(Array(faults.utf8))))
            sink = LeanSink(configuration, faults: book)
        }

        var counts: SimulatorCounts { sink.counts.snapshot(providerTokens: 0) }
    }

    init(_ service: SimulatedFaults, streams: Int = 1000) {
        self.service = service
        var settings = LeanSession.Settings()
        settings.initialStreams = streams
        session = LeanSession(settings, sink: service.sink)
    }

    /// Feeds bytes in pieces of a size, and returns what the session says.
    @discardableResult
    func feed(_ bytes: [UInt8], by size: Int = .max) -> [String] {
        var rest = bytes[...]
        var output: [UInt8] = []
        while !rest.isEmpty {
            let piece = Array(rest.prefix(size))
            rest = rest.dropFirst(piece.count)
            piece.withUnsafeBytes { session.receive($0) }
            session.output.take { output.append(contentsOf: $0) }
        }
        service.sink.take(&session.tally)
        return Self.lines(output)
    }

    /// The preface and the settings of a client, and the acknowledgement of ours.
    func begin() { feed(LeanSession.preface + Self.frame(4) + Self.frame(4, flags: 1)) }

    static func frame(_ kind: UInt8, flags: UInt8 = 0, stream: Int = 0, _ payload: [UInt8] = []) -> [UInt8] {
        let length = payload.count
        let head = [UInt8(length >> 16), UInt8(length >> 8 & 0xFF), UInt8(length & 0xFF), kind, flags]
        return head + (0..<4).map { UInt8(stream >> (24 - 8 * $0) & 0xFF) } + payload
    }

    /// A push: HEADERS, and a body in as many DATA frames as are given.
    static func push(_ stream: Int, block: [UInt8] = [0x83], bodies: [Int] = [402]) -> [UInt8] {
        var bytes = frame(1, flags: bodies.isEmpty ? 5 : 4, stream: stream, block)
        for (index, size) in bodies.enumerated() {
            let flags: UInt8 = index == bodies.count - 1 ? 1 : 0
            bytes += frame(0, flags: flags, stream: stream, Array(repeating: 0x78, count: size))
        }
        return bytes
    }

    static func number(_ value: Int) -> [UInt8] { (0..<4).map { UInt8(value >> (24 - 8 * $0) & 0xFF) } }

    private static func lines(_ output: [UInt8]) -> [String] {
        var lines: [String] = []
        var rest = output[...]
        while rest.count >= 9 {
            let head = Array(rest.prefix(9))
            let length = Int(head[0]) << 16 | Int(head[1]) << 8 | Int(head[2])
            let payload = Array(rest.dropFirst(9).prefix(length))
            rest = rest.dropFirst(9 + length)
            lines.append(line(head[3], head[4], head[5...].reduce(0) { $0 << 8 | Int($1) }, payload))
        }
        return lines
    }

    private static func line(_ kind: UInt8, _ flags: UInt8, _ stream: Int, _ payload: [UInt8]) -> String {
        let end = flags & 1 != 0 ? " end" : ""
        func word(_ offset: Int) -> Int { payload[offset..<(offset + 4)].reduce(0) { $0 << 8 | Int($1) } }
        switch kind {
        case 0: return "DATA \(stream) \(payload.count)\(end)"
        case 1:
            let status = payload.first == 0x88 ? "200" : String(decoding: payload[2..<5], as: UTF8.self)
            return "HEADERS \(stream) \(status)\(end)"
        case 3: return "RESET \(stream) \(word(0))"
        case 4: return flags & 1 != 0 ? "SETTINGS ack" : "SETTINGS"
        case 6: return "PING\(flags & 1 != 0 ? " ack" : "")"
        case 7: return "GOAWAY \(word(0)) code \(word(4)) \(String(decoding: payload[8...], as: UTF8.self))"
        case 8: return "WINDOW_UPDATE \(stream) \(word(0))"
        default: return "frame \(kind)"
        }
    }
}
