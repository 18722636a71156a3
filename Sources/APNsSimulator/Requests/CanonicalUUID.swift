/// The form 8-4-4-4-12 of hexadecimal digits (RFC 9562, 4).
enum CanonicalUUID {
    static func isUUID(_ text: String, lowerCaseOnly: Bool) -> Bool {
        guard text.utf8.count == 36 else { return false }
        var position = 0
        for byte in text.utf8 {
            let isDash = position == 8 || position == 13 || position == 18 || position == 23
            position += 1
            switch byte {
            case UInt8(ascii: "-"): if !isDash { return false }
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"):
                if isDash { return false }
            case UInt8(ascii: "A")...UInt8(ascii: "F"): if isDash || lowerCaseOnly { return false }
            default: return false
            }
        }
        return true
    }

    /// The 16 bytes as two words, whatever the digits' case; nil if the text is no UUID.
    static func words(_ text: String) -> (UInt64, UInt64)? {
        var words: (UInt64, UInt64) = (0, 0)
        var digits = 0
        for byte in text.utf8 {
            let nibble: UInt8
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): nibble = byte - 0x30
            case UInt8(ascii: "a")...UInt8(ascii: "f"), UInt8(ascii: "A")...UInt8(ascii: "F"):
                nibble = (byte | 0x20) - 0x57
            case UInt8(ascii: "-"): continue
            default: return nil
            }
            if digits < 16 { words.0 = words.0 << 4 | UInt64(nibble) } else { words.1 = words.1 << 4 | UInt64(nibble) }
            digits += 1
        }
        return digits == 32 ? words : nil
    }

    /// The text of two words, in lower case.
    static func text(_ words: (UInt64, UInt64)) -> String {
        String(unsafeUninitializedCapacity: 36) { buffer in
            var position = 0
            for digit in 0..<32 {
                if position == 8 || position == 13 || position == 18 || position == 23 {
                    buffer[position] = UInt8(ascii: "-")
                    position += 1
                }
                let word = digit < 16 ? words.0 : words.1
                let nibble = UInt8(truncatingIfNeeded: word >> UInt64(60 - 4 * (digit & 15)) & 0xF)
                buffer[position] = nibble < 10 ? nibble + 0x30 : nibble + 0x57
                position += 1
            }
            return position
        }
    }
}
