/// Base64 with `+ /` and padding (RFC 4648, 4). Decoding is strict: no white space, padding required, spare bits zero.
package enum Base64 {
    package static func encode(_ bytes: some Sequence<UInt8>) -> String {
        Base64Alphabet.standard.encode(bytes, padded: true)
    }

    package static func decode(_ text: some StringProtocol) -> [UInt8]? {
        Base64Alphabet.standard.decode(Array(text.utf8), padded: true)
    }
}

/// Base64url without padding (RFC 4648, 5), as JSON Web Tokens use it (RFC 7515, 2).
package enum Base64URL {
    package static func encode(_ bytes: some Sequence<UInt8>) -> String {
        Base64Alphabet.urlSafe.encode(bytes, padded: false)
    }

    package static func decode(_ text: some StringProtocol) -> [UInt8]? {
        Base64Alphabet.urlSafe.decode(Array(text.utf8), padded: false)
    }
}

/// One of the two alphabets, with its inverse.
private struct Base64Alphabet: Sendable {
    static let standard = Base64Alphabet(last: "+/")
    static let urlSafe = Base64Alphabet(last: "-_")

    private let digits: [UInt8]
    private let values: [UInt8]  // by ASCII code; 0xFF where it is no digit

    private init(last: String) {
        digits = Array(("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789" + last).utf8)
        var values = [UInt8](repeating: 0xFF, count: 256)
        for (value, digit) in digits.enumerated() { values[Int(digit)] = UInt8(value) }
        self.values = values
    }

    func encode(_ bytes: some Sequence<UInt8>, padded: Bool) -> String {
        var text: [UInt8] = []
        text.reserveCapacity(bytes.underestimatedCount * 4 / 3 + 4)
        var bits: UInt32 = 0
        var bitCount = 0
        for byte in bytes {
            bits = bits << 8 | UInt32(byte)
            bitCount += 8
            while bitCount >= 6 {
                bitCount -= 6
                text.append(digits[Int(bits >> UInt32(bitCount) & 0x3F)])
            }
        }
        if bitCount > 0 { text.append(digits[Int(bits << UInt32(6 - bitCount) & 0x3F)]) }
        while padded && text.count % 4 != 0 { text.append(UInt8(ascii: "=")) }
        return String(decoding: text, as: UTF8.self)
    }

    func decode(_ text: [UInt8], padded: Bool) -> [UInt8]? {
        var end = text.count
        if padded {
            guard text.count % 4 == 0 else { return nil }
            while end > 0, text.count - end < 2, text[end - 1] == UInt8(ascii: "=") { end -= 1 }
        }
        guard end % 4 != 1 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(end * 3 / 4)
        var bits: UInt32 = 0
        var bitCount = 0
        for digit in text[..<end] {
            let value = values[Int(digit)]
            guard value != 0xFF else { return nil }
            bits = (bits << 6 | UInt32(value)) & 0xFFFF
            bitCount += 6
            if bitCount >= 8 {
                bitCount -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(bitCount)))
            }
        }
        guard bits & ((1 << UInt32(bitCount)) - 1) == 0 else { return nil }
        return bytes
    }
}
