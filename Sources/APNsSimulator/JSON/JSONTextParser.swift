/// Reads one JSON value (RFC 8259) from bytes; nothing but white space may follow it.
struct JSONTextParser {
    /// Deeper texts are refused, so that nobody can exhaust the stack.
    static let deepest = 128

    private let bytes: [UInt8]
    private var position = 0

    static func parse(_ bytes: [UInt8]) throws(JSONTextError) -> JSONText {
        var parser = JSONTextParser(bytes: bytes)
        let value = try parser.value(depth: 0)
        parser.skipWhiteSpace()
        guard parser.position == bytes.count else { throw parser.error("more text after the value") }
        return value
    }

    private init(bytes: [UInt8]) { self.bytes = bytes }

    private mutating func value(depth: Int) throws(JSONTextError) -> JSONText {
        skipWhiteSpace()
        guard depth < Self.deepest else { throw error("nested too deeply") }
        guard let byte = peek() else { throw error("the text ends where a value should be") }
        let start = position
        let kind: JSONText.Kind =
            switch byte {
            case UInt8(ascii: "{"): .object(try members(depth: depth))
            case UInt8(ascii: "["): .array(try elements(depth: depth))
            case UInt8(ascii: "\""): .string(try string())
            case UInt8(ascii: "t"): try word("true", .bool(true))
            case UInt8(ascii: "f"): try word("false", .bool(false))
            case UInt8(ascii: "n"): try word("null", .null)
            default: .number(try number())
            }
        return JSONText(kind: kind, range: start..<position)
    }

    private mutating func members(depth: Int) throws(JSONTextError) -> [(name: String, value: JSONText)] {
        var members: [(name: String, value: JSONText)] = []
        position += 1
        skipWhiteSpace()
        if take(UInt8(ascii: "}")) { return members }
        while true {
            skipWhiteSpace()
            guard peek() == UInt8(ascii: "\"") else { throw error("a name in quotes is missing") }
            let name = try string()
            skipWhiteSpace()
            guard take(UInt8(ascii: ":")) else { throw error("a colon is missing") }
            members.append((name, try value(depth: depth + 1)))
            skipWhiteSpace()
            if take(UInt8(ascii: "}")) { return members }
            guard take(UInt8(ascii: ",")) else { throw error("a comma or a closing brace is missing") }
        }
    }

    private mutating func elements(depth: Int) throws(JSONTextError) -> [JSONText] {
        var elements: [JSONText] = []
        position += 1
        skipWhiteSpace()
        if take(UInt8(ascii: "]")) { return elements }
        while true {
            elements.append(try value(depth: depth + 1))
            skipWhiteSpace()
            if take(UInt8(ascii: "]")) { return elements }
            guard take(UInt8(ascii: ",")) else { throw error("a comma or a closing bracket is missing") }
        }
    }

    private mutating func string() throws(JSONTextError) -> String {
        position += 1
        let start = position
        while let byte = peek(), byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\"), byte >= 0x20 { position += 1 }
        if peek() == UInt8(ascii: "\"") {
            let text = String(validating: bytes[start..<position], as: UTF8.self)
            guard let text else { throw error("a string is not UTF-8") }
            position += 1
            return text
        }
        return try escapedString(from: Array(bytes[start..<position]))
    }

    /// The rest of a string that holds an escape; `beginning` is what stood before it.
    private mutating func escapedString(from beginning: [UInt8]) throws(JSONTextError) -> String {
        var text = beginning
        while let byte = peek() {
            position += 1
            switch byte {
            case UInt8(ascii: "\""):
                guard let valid = String(validating: text, as: UTF8.self) else { throw error("a string is not UTF-8") }
                return valid
            case UInt8(ascii: "\\"): text.append(contentsOf: Array(String(try escape()).utf8))
            case 0..<0x20: throw error("a control character in a string")
            default: text.append(byte)
            }
        }
        throw error("a string without its end")
    }

    private mutating func escape() throws(JSONTextError) -> Unicode.Scalar {
        guard let byte = peek() else { throw error("an escape without its end") }
        position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(byte)
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{C}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"): return try unicodeEscape()
        default: throw error("an unknown escape")
        }
    }

    private mutating func unicodeEscape() throws(JSONTextError) -> Unicode.Scalar {
        let unit = try hexUnit()
        if let scalar = Unicode.Scalar(unit) { return scalar }
        guard unit < 0xDC00, take(UInt8(ascii: "\\")), take(UInt8(ascii: "u")) else {
            throw error("half a surrogate pair")
        }
        let low = try hexUnit()
        guard (0xDC00..<0xE000).contains(low),
            let scalar = Unicode.Scalar(0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00))
        else { throw error("half a surrogate pair") }
        return scalar
    }

    private mutating func hexUnit() throws(JSONTextError) -> UInt32 {
        var unit: UInt32 = 0
        for _ in 0..<4 {
            guard let byte = peek(), let digit = Character(Unicode.Scalar(byte)).hexDigitValue else {
                throw error("an escape needs four hexadecimal digits")
            }
            unit = unit << 4 | UInt32(digit)
            position += 1
        }
        return unit
    }

    private mutating func number() throws(JSONTextError) -> String {
        let start = position
        _ = take(UInt8(ascii: "-"))
        if !take(UInt8(ascii: "0")) {
            guard digits() else {
                position = start
                throw error("a value is missing")
            }
        }
        if take(UInt8(ascii: ".")) {
            guard digits() else { throw error("digits are missing after the point") }
        }
        if let byte = peek(), byte | 0x20 == UInt8(ascii: "e") {
            position += 1
            if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
            guard digits() else { throw error("digits are missing in the exponent") }
        }
        return String(decoding: bytes[start..<position], as: UTF8.self)
    }

    /// Takes as many digits as there are; false if there are none.
    private mutating func digits() -> Bool {
        let start = position
        while let byte = peek(), byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") { position += 1 }
        return position > start
    }

    private mutating func word(_ text: StaticString, _ kind: JSONText.Kind) throws(JSONTextError) -> JSONText.Kind {
        let matches = text.withUTF8Buffer { $0.elementsEqual(bytes[position...].prefix($0.count)) }
        guard matches else { throw error("a value is missing") }
        position += text.utf8CodeUnitCount
        return kind
    }

    private func peek() -> UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard peek() == byte else { return false }
        position += 1
        return true
    }

    private mutating func skipWhiteSpace() {
        while let byte = peek(), byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { position += 1 }
    }

    private func error(_ reason: String) -> JSONTextError { JSONTextError(reason: reason, offset: position) }
}
