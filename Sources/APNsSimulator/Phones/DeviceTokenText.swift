/// The hexadecimal text of a device token. Apple promises no length.
enum DeviceTokenText {
    /// Longer texts are no tokens: the longest seen in the field have 160 digits.
    static let mostDigits = 512

    /// The token's bytes; nil if the text is not an even number of hexadecimal digits.
    static func bytes(_ text: String) -> [UInt8]? {
        let digits = text.utf8
        let count = digits.count
        guard count > 0, count % 2 == 0, count <= mostDigits else { return nil }
        var isValid = true
        let bytes = [UInt8](unsafeUninitializedCapacity: count / 2) { buffer, initialized in
            var high: UInt8 = 0
            var isHigh = true
            for digit in digits {
                let nibble: UInt8
                switch digit {
                case UInt8(ascii: "0")...UInt8(ascii: "9"): nibble = digit - 0x30
                case UInt8(ascii: "a")...UInt8(ascii: "f"), UInt8(ascii: "A")...UInt8(ascii: "F"):
                    nibble = (digit | 0x20) - 0x57
                default:
                    isValid = false
                    return
                }
                if isHigh {
                    high = nibble << 4
                } else {
                    buffer[initialized] = high | nibble
                    initialized += 1
                }
                isHigh.toggle()
            }
        }
        return isValid ? bytes : nil
    }
}
