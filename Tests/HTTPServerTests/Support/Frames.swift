/// HTTP/2 frames written and read by hand, for a peer that keeps no rule.
enum Frames {
    static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)
    /// An acknowledgement of SETTINGS.
    static let settingsAcknowledged = frame(type: 4, flags: 1, stream: 0)

    static func frame(type: UInt8, flags: UInt8 = 0, stream: UInt32, _ payload: [UInt8] = []) -> [UInt8] {
        let count = payload.count
        return [UInt8(count >> 16), UInt8(count >> 8 & 255), UInt8(count & 255), type, flags] + big(stream) + payload
    }

    static func settings() -> [UInt8] { frame(type: 4, stream: 0) }

    /// `GET /` of `a` by HTTP/2's static table; `path` and `fields` as literals.
    static func headers(
        stream: UInt32,
        path: String = "/",
        fields: [(String, String)] = [],
        endsStream: Bool = true
    ) -> [UInt8] {
        var block: [UInt8] = [0x82, 0x86, 0x04] + literal(path) + [0x01] + literal("a")
        for (name, value) in fields { block += [0x00] + literal(name) + literal(value) }
        return frame(type: 1, flags: endsStream ? 5 : 4, stream: stream, block)
    }

    static func data(stream: UInt32, _ bytes: [UInt8], endsStream: Bool = true) -> [UInt8] {
        frame(type: 0, flags: endsStream ? 1 : 0, stream: stream, bytes)
    }

    static func reset(stream: UInt32, code: UInt32 = 8) -> [UInt8] { frame(type: 3, stream: stream, big(code)) }

    static func ping(acknowledges: Bool = false) -> [UInt8] {
        frame(type: 6, flags: acknowledges ? 1 : 0, stream: 0, Array(repeating: 7, count: 8))
    }

    private static func literal(_ text: String) -> [UInt8] {
        precondition(text.utf8.count < 127)
        return [UInt8(text.utf8.count)] + Array(text.utf8)
    }

    private static func big(_ number: UInt32) -> [UInt8] {
        [UInt8(number >> 24), UInt8(number >> 16 & 255), UInt8(number >> 8 & 255), UInt8(number & 255)]
    }
}

/// A frame as text that says what matters: `SETTINGS`, `HEADERS 1 end`, `RST_STREAM 3 code 7`, `GOAWAY last 5 code 0`.
func describeFrames(_ bytes: [UInt8]) -> [String] {
    var frames: [String] = []
    var rest = bytes[...]
    while rest.count >= 9 {
        let head = Array(rest.prefix(9))
        let count = Int(head[0]) << 16 | Int(head[1]) << 8 | Int(head[2])
        guard rest.count >= 9 + count else { break }
        let payload = Array(rest.dropFirst(9).prefix(count))
        rest = rest.dropFirst(9 + count)
        let stream = number(head[5...])
        let hasFirstFlag = head[4] & 1 != 0
        switch head[3] {
        case 0: frames.append("DATA \(stream) \(count)" + (hasFirstFlag ? " end" : ""))
        case 1: frames.append("HEADERS \(stream)" + (hasFirstFlag ? " end" : ""))
        case 3: frames.append("RST_STREAM \(stream) code \(number(payload[...]))")
        case 4: frames.append(hasFirstFlag ? "SETTINGS ACK" : "SETTINGS")
        case 6: frames.append(hasFirstFlag ? "PING ACK" : "PING")
        case 7:
            let debug = String(decoding: payload.dropFirst(8), as: UTF8.self)
            frames.append("GOAWAY last \(number(payload[..<4])) code \(number(payload[4..<8])) \(debug)")
        case 8: frames.append("WINDOW_UPDATE \(stream)")
        default: frames.append("type \(head[3])")
        }
    }
    return frames
}

private func number(_ bytes: ArraySlice<UInt8>) -> UInt32 {
    bytes.prefix(4).reduce(0) { $0 << 8 | UInt32($1) } & 0x7FFF_FFFF
}
