extension JSONScanner {
    /// Reads the string that starts at the quote under the cursor.
    mutating func string() throws(JSONFault) -> String {
        place += 1
        let start = place
        while let byte = current {
            switch byte {
            case UInt8(ascii: "\""):
                let text = try validated(bytes[start..<place])
                place += 1
                return text
            case UInt8(ascii: "\\"):
                return try escapedString(from: start)
            case 0x20...:
                place += 1
            default:
                throw control(byte)
            }
        }
        throw malformed("a string has no end")
    }

    /// Goes on at the first backslash of a string.
    private mutating func escapedString(from start: Int) throws(JSONFault) -> String {
        var text = Array(bytes[start..<place])
        while let byte = current {
            switch byte {
            case UInt8(ascii: "\""):
                place += 1
                return try validated(text[...])
            case UInt8(ascii: "\\"):
                place += 1
                try appendEscape(to: &text)
            case 0x20...:
                text.append(byte)
                place += 1
            default:
                throw control(byte)
            }
        }
        throw malformed("a string has no end")
    }

    private mutating func appendEscape(to text: inout [UInt8]) throws(JSONFault) {
        guard let byte = current else { throw malformed("a string has no end") }
        place += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(byte)
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0C)
        case UInt8(ascii: "n"): text.append(0x0A)
        case UInt8(ascii: "r"): text.append(0x0D)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "u"): text.append(contentsOf: Character(try scalar()).utf8)
        default:
            place -= 1
            throw malformed("there is no such escape")
        }
    }

    /// The scalar of a `\u` escape, or of two that make a surrogate pair.
    private mutating func scalar() throws(JSONFault) -> Unicode.Scalar {
        let first = try hexUnit()
        switch first {
        case 0:
            throw fault(.nul)
        case 0xDC00...0xDFFF:
            throw fault(.loneSurrogate)
        case 0xD800...0xDBFF:
            guard take(UInt8(ascii: "\\")), take(UInt8(ascii: "u")) else { throw fault(.loneSurrogate) }
            let second = try hexUnit()
            guard (0xDC00...0xDFFF).contains(second),
                let scalar = Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00))
            else { throw fault(.loneSurrogate) }
            return scalar
        default:
            guard let scalar = Unicode.Scalar(first) else { throw fault(.loneSurrogate) }
            return scalar
        }
    }

    private mutating func hexUnit() throws(JSONFault) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<4 {
            guard let byte = current, let digit = Character(Unicode.Scalar(byte)).hexDigitValue, byte < 0x80 else {
                throw malformed("a \\u escape has four hexadecimal digits")
            }
            value = value << 4 | UInt32(digit)
            place += 1
        }
        return value
    }

    private func validated(_ text: ArraySlice<UInt8>) throws(JSONFault) -> String {
        guard let string = String(validating: text, as: UTF8.self) else { throw fault(.invalidUTF8) }
        return string
    }

    private func control(_ byte: UInt8) -> JSONFault {
        byte == 0 ? fault(.nul) : malformed("a control character in a string is not escaped")
    }
}
