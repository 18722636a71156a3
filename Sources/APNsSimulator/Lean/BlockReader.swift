/// Walks through a header block.
struct BlockReader {
    private let bytes: UnsafeRawBufferPointer
    private var position = 0
    private(set) var isBroken = false

    init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    func peek() -> UInt8? { position < bytes.count ? bytes[position] : nil }

    /// A number with so many bits in its first byte (RFC 7541, 5.1); nil when it ends too early or is too large.
    mutating func integer(prefix: UInt8) -> Int? {
        guard let first = peek() else { return nil }
        position += 1
        let most = (1 << Int(prefix)) - 1
        var value = Int(first) & most
        guard value == most else { return value }
        for shift in stride(from: 0, through: 21, by: 7) {
            guard let byte = peek() else { return nil }
            position += 1
            value += Int(byte & 0x7F) << shift
            if byte & 0x80 == 0 { return value }
        }
        return nil
    }

    /// A string literal (RFC 7541, 5.2).
    mutating func string() -> Text? {
        guard let first = peek(), let count = integer(prefix: 7), count <= bytes.count - position else { return nil }
        defer { position += count }
        return Text(
            bytes: UnsafeRawBufferPointer(rebasing: bytes[position..<(position + count)]),
            isHuffman: first & 0x80 != 0
        )
    }

    /// A text as it stands in the block.
    struct Text {
        let bytes: UnsafeRawBufferPointer
        let isHuffman: Bool

        func equals(_ text: StaticString) -> Bool {
            guard bytes.count == text.utf8CodeUnitCount else { return false }
            return bytes.indices.allSatisfy { bytes[$0] == text.utf8Start[$0] }
        }

        /// Of the text as it was sent: who sends the same text in two codings is seen as sending two.
        var hash: UInt64 {
            var hash: UInt64 = 0xCBF2_9CE4_8422_2325 ^ UInt64(bytes.count)
            var position = 0
            while bytes.count - position >= 8 {
                hash = (hash ^ bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self)) &* 0x9E37_79B9_7F4A_7C15
                hash ^= hash >> 32
                position += 8
            }
            while position < bytes.count {
                hash = (hash ^ UInt64(bytes[position])) &* 0x100_0000_01B3
                position += 1
            }
            return (hash ^ (hash >> 29)) &* 0xBF58_476D_1CE4_E5B9
        }

        /// The text as a UUID, in whatever coding; nil when it is none.
        var uuid: (UInt64, UInt64)? {
            var reading = UUIDReading()
            if isHuffman {
                var bits: UInt64 = 0
                var count = 0
                for byte in bytes {
                    bits = bits << 8 | UInt64(byte)
                    count += 8
                    while count >= 7, !reading.isComplete {
                        let symbol = hexSymbols[Int(bits >> UInt64(count - 7) & 0x7F)]
                        guard symbol != 0, reading.take(symbol & 0x1F) else { return nil }
                        count -= Int(symbol >> 5)
                    }
                }
                // What is left is padding by ones, or one more digit of five or six bits before it.
                while count >= 5, !reading.isComplete {
                    let padded = (bits << 7 | 0x7F) >> UInt64(count) & 0x7F
                    let symbol = hexSymbols[Int(padded)]
                    guard symbol != 0, Int(symbol >> 5) <= count, reading.take(symbol & 0x1F) else { return nil }
                    count -= Int(symbol >> 5)
                }
            } else {
                for byte in bytes { guard reading.take(UUIDReading.symbol(of: byte)) else { return nil } }
            }
            return reading.words
        }
    }
}

/// Digits of the form 8-4-4-4-12 as they come.
private struct UUIDReading {
    static let dash: UInt8 = 16
    private static let none: UInt8 = 31

    private(set) var place = 0
    private var high: UInt64 = 0
    private var low: UInt64 = 0

    var isComplete: Bool { place == 36 }
    var words: (UInt64, UInt64)? { isComplete ? (high, low) : nil }

    static func symbol(of byte: UInt8) -> UInt8 {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - 0x30
        case UInt8(ascii: "a")...UInt8(ascii: "f"), UInt8(ascii: "A")...UInt8(ascii: "F"): (byte | 0x20) - 0x57
        case UInt8(ascii: "-"): dash
        default: none
        }
    }

    mutating func take(_ symbol: UInt8) -> Bool {
        let isDash = place == 8 || place == 13 || place == 18 || place == 23
        guard place < 36, isDash == (symbol == Self.dash), symbol <= Self.dash else { return false }
        if !isDash {
            if place < 18 { high = high << 4 | UInt64(symbol) } else { low = low << 4 | UInt64(symbol) }
        }
        place += 1
        return true
    }
}

/// The codes of hexadecimal digits and the dash (RFC 7541, B) by the seven bits that they begin: length << 5 | symbol; 0
/// for all others.
private let hexSymbols: [UInt8] = {
    let codes: [(code: Int, bits: Int, text: Character)] = [
        (0x00, 5, "0"), (0x01, 5, "1"), (0x02, 5, "2"), (0x19, 6, "3"), (0x1A, 6, "4"), (0x1B, 6, "5"),
        (0x1C, 6, "6"), (0x1D, 6, "7"), (0x1E, 6, "8"), (0x1F, 6, "9"), (0x03, 5, "a"), (0x23, 6, "b"),
        (0x04, 5, "c"), (0x24, 6, "d"), (0x05, 5, "e"), (0x25, 6, "f"), (0x21, 6, "A"), (0x5D, 7, "B"),
        (0x5E, 7, "C"), (0x5F, 7, "D"), (0x60, 7, "E"), (0x61, 7, "F"), (0x16, 6, "-"),
    ]
    var table = [UInt8](repeating: 0, count: 128)
    for (code, bits, text) in codes {
        let symbol = UUIDReading.symbol(of: text.asciiValue ?? 0)
        for rest in 0..<(1 << (7 - bits)) { table[code << (7 - bits) | rest] = UInt8(bits << 5) | symbol }
    }
    return table
}()
