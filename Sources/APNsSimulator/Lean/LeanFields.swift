/// A header block without memory: literals only, which leave the peer's table alone (RFC 7541, 6.2.2).
struct LeanFields {
    private(set) var bytes: [UInt8] = []

    init(status: Int) {
        switch status {
        case 200: bytes = [0x88]
        default: bytes = [0x08, 3] + Array(String(status).utf8)
        }
    }

    mutating func append(_ name: String, _ value: String) {
        bytes.append(0)
        append(name)
        append(value)
    }

    func field(_ name: String, _ value: String) -> LeanFields {
        var fields = self
        fields.append(name, value)
        return fields
    }

    /// HEADERS, and as many CONTINUATIONs as it takes.
    func frames(on stream: Int32, endsStream: Bool, to output: inout LeanOutput) {
        var rest = bytes[...]
        var kind = LeanFrame.headers
        repeat {
            let part = rest.prefix(LeanFrame.mostPayloadBytes)
            rest = rest.dropFirst(part.count)
            var flags: UInt8 = rest.isEmpty ? LeanFrame.endHeaders : 0
            if kind == LeanFrame.headers, endsStream { flags |= LeanFrame.endStream }
            output.frame(kind, flags: flags, stream: stream, part)
            kind = LeanFrame.continuation
        } while !rest.isEmpty
    }

    private mutating func append(_ text: String) {
        let count = text.utf8.count
        if count < 127 {
            bytes.append(UInt8(count))
        } else {
            // A number with seven bits in its first byte (RFC 7541, 5.1).
            bytes.append(127)
            var rest = count - 127
            while rest >= 128 {
                bytes.append(UInt8(rest & 0x7F | 0x80))
                rest >>= 7
            }
            bytes.append(UInt8(rest))
        }
        bytes.append(contentsOf: text.utf8)
    }
}
