/// Reads JSON strictly (RFC 8259) and keeps what stood there.
///
/// Foundation's reader turns `1.10` into 1.1, drops a duplicate key and lets NUL through; content states must reach
/// phones as they came. Refused beyond the grammar: keys that stand twice in an object, NUL, lone surrogates, invalid
/// UTF-8, numbers beyond a Double's range, nesting deeper than ``deepest``. Faults carry the path of the value at fault.
package struct JSONScanner {
    package static let deepest = 64

    let bytes: [UInt8]
    var place: Int
    var path: [JSONPathStep] = []

    /// Reads one value that fills `bytes`, but for white space around it.
    package static func read(_ bytes: [UInt8]) throws(JSONFault) -> JSONValue {
        var scanner = JSONScanner(bytes: bytes, place: 0)
        scanner.skipSpace()
        guard scanner.place < bytes.count else { throw scanner.fault(.malformed("there is no JSON value", offset: 0)) }
        let value = try scanner.value(depth: 0)
        scanner.skipSpace()
        guard scanner.place == bytes.count else { throw scanner.malformed("something follows the JSON value") }
        return value
    }

    /// The same, with a problem for a person.
    package static func decode(_ bytes: [UInt8]) throws(Problem) -> JSONValue {
        do {
            return try read(bytes)
        } catch {
            throw error.problem
        }
    }

    private mutating func value(depth: Int) throws(JSONFault) -> JSONValue {
        guard depth <= Self.deepest else { throw fault(.tooDeep) }
        let start = place
        let content: JSONValue.Content
        switch current {
        case UInt8(ascii: "{"): content = .object(try object(depth: depth))
        case UInt8(ascii: "["): content = .array(try array(depth: depth))
        case UInt8(ascii: "\""): content = .string(try string())
        case UInt8(ascii: "t"): content = try word("true", .bool(true))
        case UInt8(ascii: "f"): content = try word("false", .bool(false))
        case UInt8(ascii: "n"): content = try word("null", .null)
        default: content = .number(try number())
        }
        return JSONValue(content: content, raw: bytes[start..<place])
    }

    private mutating func object(depth: Int) throws(JSONFault) -> [JSONMember] {
        place += 1
        skipSpace()
        var members: [JSONMember] = []
        var names = NameSet()
        if take(UInt8(ascii: "}")) { return members }
        while true {
            guard current == UInt8(ascii: "\"") else { throw malformed("a key in quotes is missing") }
            let name = try string()
            path.append(.name(name))
            guard names.insert(name, besides: members) else { throw fault(.duplicateKey(name)) }
            skipSpace()
            guard take(UInt8(ascii: ":")) else { throw malformed("a colon is missing after a key") }
            skipSpace()
            members.append(JSONMember(name: name, value: try value(depth: depth + 1)))
            path.removeLast()
            skipSpace()
            if take(UInt8(ascii: "}")) { return members }
            guard take(UInt8(ascii: ",")) else { throw malformed("a comma or } is missing in an object") }
            skipSpace()
        }
    }

    private mutating func array(depth: Int) throws(JSONFault) -> [JSONValue] {
        place += 1
        skipSpace()
        var values: [JSONValue] = []
        if take(UInt8(ascii: "]")) { return values }
        while true {
            path.append(.index(values.count))
            values.append(try value(depth: depth + 1))
            path.removeLast()
            skipSpace()
            if take(UInt8(ascii: "]")) { return values }
            guard take(UInt8(ascii: ",")) else { throw malformed("a comma or ] is missing in a list") }
            skipSpace()
        }
    }

    private mutating func word(
        _ word: StaticString,
        _ content: JSONValue.Content
    ) throws(JSONFault) -> JSONValue.Content {
        let end = place + word.utf8CodeUnitCount
        guard end <= bytes.count, bytes[place..<end].elementsEqual("\(word)".utf8) else {
            throw malformed("a value is missing")
        }
        place = end
        return content
    }

    /// `-? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)?`
    private mutating func number() throws(JSONFault) -> String {
        let start = place
        _ = take(UInt8(ascii: "-"))
        if !take(UInt8(ascii: "0")) {
            guard skipDigits() else {
                place = start
                throw malformed("a value is missing")
            }
        }
        if take(UInt8(ascii: ".")) {
            guard skipDigits() else { throw malformed("a digit is missing behind a decimal point") }
        }
        if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
            if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
            guard skipDigits() else { throw malformed("a digit is missing in an exponent") }
        }
        // 01 and 1x: what follows a number is never part of a name or number.
        if let next = current, isDigit(next) { throw malformed("a number starts with a needless zero") }
        let digits = String(decoding: bytes[start..<place], as: UTF8.self)
        // A phone's JSON reader refuses the whole push for such a number, wherever it stands (RFC 8259, 6, lets us too).
        let mayOverflow = digits.utf8.count > 300 || digits.utf8.contains { $0 | 0x20 == UInt8(ascii: "e") }
        if mayOverflow, Double(digits)?.isFinite != true {
            place = start
            throw malformed("a number is beyond the range of a Double")
        }
        return digits
    }
}

extension JSONScanner {
    var current: UInt8? { place < bytes.count ? bytes[place] : nil }

    mutating func take(_ byte: UInt8) -> Bool {
        guard current == byte else { return false }
        place += 1
        return true
    }

    mutating func skipSpace() {
        while let byte = current, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { place += 1 }
    }

    private mutating func skipDigits() -> Bool {
        let start = place
        while let byte = current, isDigit(byte) { place += 1 }
        return place > start
    }

    private func isDigit(_ byte: UInt8) -> Bool { byte >= 0x30 && byte <= 0x39 }

    func malformed(_ what: String) -> JSONFault {
        fault(.malformed(place < bytes.count ? what : "the JSON ends too early", offset: place))
    }

    func fault(_ kind: JSONFault.Kind) -> JSONFault { JSONFault(kind: kind, path: path.text) }
}

/// The names of an object so far: a few are compared in turn, many are kept in a set.
private struct NameSet {
    private var many: Set<[UInt8]> = []

    /// False when the name is there already.
    mutating func insert(_ name: String, besides members: [JSONMember]) -> Bool {
        guard members.count >= 16 else { return !members.contains { $0.name.utf8.elementsEqual(name.utf8) } }
        if many.isEmpty { many = Set(members.map { Array($0.name.utf8) }) }
        return many.insert(Array(name.utf8)).inserted
    }
}
