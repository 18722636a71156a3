/// A JSON value that remembers where it stood in the text, so that its digits, order and escapes can be shown unchanged.
struct JSONText {
    indirect enum Kind {
        case null
        case bool(Bool)
        /// The number as it was written: `1.10` stays `1.10`.
        case number(String)
        case string(String)
        case array([JSONText])
        /// Members in the order of the text; a name that comes twice stands here twice.
        case object([(name: String, value: JSONText)])
    }

    let kind: Kind
    /// The bytes of the value within the text that was parsed.
    let range: Range<Int>

    /// The first member of this name, if the value is an object that has one.
    subscript(_ name: String) -> JSONText? {
        guard case .object(let members) = kind else { return nil }
        return members.first { $0.name == name }?.value
    }

    var isNull: Bool {
        if case .null = kind { return true }
        return false
    }

    var string: String? {
        if case .string(let text) = kind { return text }
        return nil
    }

    var bool: Bool? {
        if case .bool(let value) = kind { return value }
        return nil
    }

    var array: [JSONText]? {
        if case .array(let elements) = kind { return elements }
        return nil
    }

    var members: [(name: String, value: JSONText)]? {
        if case .object(let members) = kind { return members }
        return nil
    }

    /// A number without fraction that fits 64 bits; `1.0` and `1e3` count, as they do for `JSONDecoder`.
    var integer: Int64? {
        guard case .number(let text) = kind else { return nil }
        if let value = Int64(text) { return value }
        guard text.utf8.contains(where: { $0 == UInt8(ascii: ".") || $0 | 0x20 == UInt8(ascii: "e") }) else {
            return nil
        }
        return Double(text).flatMap { Int64(exactly: $0) }
    }

    /// A finite number.
    var double: Double? {
        guard case .number(let text) = kind, let value = Double(text), value.isFinite else { return nil }
        return value
    }

    /// What the value is, for an error text: "a string".
    var noun: String {
        switch kind {
        case .null: "null"
        case .bool: "a boolean"
        case .number: "a number"
        case .string: "a string"
        case .array: "a list"
        case .object: "an object"
        }
    }
}

/// Why a text is no JSON.
struct JSONTextError: Error, Equatable {
    let reason: String
    /// Index of the byte at fault.
    let offset: Int
}
