/// The byte classes of HTTP/1.1, and small readers over slices of a buffer.
enum HTTP1Syntax {
    static let carriageReturn: UInt8 = 0x0D
    static let lineFeed: UInt8 = 0x0A
    static let space: UInt8 = 0x20
    static let tab: UInt8 = 0x09
    static let colon: UInt8 = 0x3A
    static let comma: UInt8 = 0x2C
    static let semicolon: UInt8 = 0x3B

    /// `tchar` of RFC 9110, 5.6.2: what methods and field names are made of.
    static func isToken(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        case 0x21, 0x23...0x27, 0x2A, 0x2B, 0x2D, 0x2E, 0x5E...0x60, 0x7C, 0x7E: true
        default: false
        }
    }

    /// What may stand in a field's value: no control byte but the tab (RFC 9110, 5.5).
    static func isValue(_ byte: UInt8) -> Bool {
        byte == tab || (byte >= space && byte != 0x7F)
    }

    /// Visible ASCII without `#`: a fragment is never sent (RFC 9112, 3.2).
    static func isTarget(_ byte: UInt8) -> Bool {
        byte > space && byte < 0x7F && byte != 0x23
    }

    /// What an authority without user information is made of (RFC 3986, 3.2): no slash, `@`, space or comma.
    static func isAuthority(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        case 0x21, 0x24...0x2B, 0x2D, 0x2E, 0x3A, 0x3B, 0x3D, 0x5B, 0x5D, 0x5F, 0x7E: true
        default: false
        }
    }

    /// Drops optional white space at both ends.
    static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var bytes = bytes
        while let first = bytes.first, first == space || first == tab { bytes.removeFirst() }
        while let last = bytes.last, last == space || last == tab { bytes.removeLast() }
        return bytes
    }

    /// Digits only, no sign, no space. `nil` when it is not a number; `Int.max` when it does not fit.
    static func decimal(_ text: String) -> Int? {
        guard !text.isEmpty, text.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else { return nil }
        return Int(text) ?? Int.max
    }

    /// One to 16 hexadecimal digits. `nil` when it is not a number; `Int.max` when it does not fit.
    static func hexadecimal(_ bytes: ArraySlice<UInt8>) -> Int? {
        guard (1...16).contains(bytes.count) else { return nil }
        var value: UInt64 = 0
        for byte in bytes {
            let digit: UInt8
            switch byte {
            case 0x30...0x39: digit = byte - 0x30
            case 0x41...0x46: digit = byte - 0x41 + 10
            case 0x61...0x66: digit = byte - 0x61 + 10
            default: return nil
            }
            value = value << 4 | UInt64(digit)
        }
        return Int(clamping: value)
    }

    static func isEqual(_ text: some StringProtocol, ignoringCaseOf lowered: String) -> Bool {
        text.utf8.elementsEqual(lowered.utf8) { $0 == $1 || ($0 >= 0x41 && $0 <= 0x5A && $0 | 0x20 == $1) }
    }

    /// The members of comma-separated lists, in all fields given, trimmed; empty ones are left out.
    static func listMembers(_ values: [String]) -> [Substring] {
        values.flatMap { value in
            value.split(separator: ",").compactMap { member in
                let trimmed = trimmed(ArraySlice(member.utf8))
                return trimmed.isEmpty ? nil : Substring(decoding: trimmed, as: UTF8.self)
            }
        }
    }
}
