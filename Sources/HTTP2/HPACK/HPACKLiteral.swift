/// Integers and strings of HPACK. Source: RFC 7541, 5 and 6.
enum HPACKLiteral {
    /// The longest form of an integer here: its first byte, and four more for 28 bits.
    static let mostIntegerBytes = 5

    /// The kinds of a field's representation: the flag bits of its first byte, and how many bits of index follow them.
    enum Kind {
        case indexed
        case inserted
        case notInserted
        /// Nor may anybody on the way index it (RFC 7541, 7.1.3).
        case neverInserted

        var flags: UInt8 {
            switch self {
            case .indexed: 0x80
            case .inserted: 0x40
            case .notInserted: 0x00
            case .neverInserted: 0x10
            }
        }

        var bits: UInt8 {
            switch self {
            case .indexed: 7
            case .inserted: 6
            case .notInserted, .neverInserted: 4
            }
        }
    }

    /// Writes an integer behind flags.
    ///
    /// - Parameters:
    ///   - value: Below 2 to the power of 28.
    ///   - bits: How many of the first byte are the integer's.
    ///   - flags: The other bits of the first byte.
    ///   - place: Has room for ``mostIntegerBytes``.
    /// - Returns: How many bytes were written.
    @inline(__always)
    static func writeInteger(_ value: Int, bits: UInt8, flags: UInt8, to place: UnsafeMutablePointer<UInt8>) -> Int {
        let most = 1 << Int(bits) - 1
        if value < most {
            place[0] = flags | UInt8(truncatingIfNeeded: value)
            return 1
        }
        place[0] = flags | UInt8(truncatingIfNeeded: most)
        var rest = value - most
        var count = 1
        while rest >= 128 {
            place[count] = UInt8(truncatingIfNeeded: rest) | 0x80
            rest >>= 7
            count += 1
        }
        place[count] = UInt8(truncatingIfNeeded: rest)
        return count + 1
    }

    static func appendInteger(_ value: Int, bits: UInt8, flags: UInt8, to bytes: inout [UInt8]) {
        precondition(value < 1 << 28, "an HPACK integer of \(value)")
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: mostIntegerBytes) { buffer in
            guard let base = buffer.baseAddress else { return }
            let count = writeInteger(value, bits: bits, flags: flags, to: base)
            bytes.append(contentsOf: UnsafeBufferPointer(start: base, count: count))
        }
    }

    static func appendInteger(_ value: Int, _ kind: Kind, to bytes: inout [UInt8]) {
        appendInteger(value, bits: kind.bits, flags: kind.flags, to: &bytes)
    }

    /// The string in the shorter of both forms.
    static func string(_ text: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        let huffman = HPACKHuffman.encodedCount(text)
        if huffman < text.count {
            appendInteger(huffman, bits: 7, flags: 0x80, to: &bytes)
            HPACKHuffman.append(text, to: &bytes)
        } else {
            appendInteger(text.count, bits: 7, flags: 0, to: &bytes)
            bytes += text
        }
        return bytes
    }
}
