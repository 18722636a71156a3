/// A JSON value as it was read: nothing is rounded, reordered or normalised, and ``raw`` is what stood there.
package struct JSONValue: Sendable {
    package let content: Content
    /// The bytes of the value, from its first to its last.
    package let raw: ArraySlice<UInt8>

    package enum Content: Sendable {
        case null
        case bool(Bool)
        /// The digits as written: `1.10`, `9007199254740993`.
        case number(String)
        case string(String)
        case array([JSONValue])
        case object([JSONMember])
    }

    init(content: Content, raw: ArraySlice<UInt8>) {
        self.content = content
        self.raw = raw
    }
}

/// One name and value of an object.
package struct JSONMember: Sendable {
    package let name: String
    package let value: JSONValue
}

extension JSONValue {
    /// The value's text, byte for byte.
    package var rawJSON: RawJSON { RawJSON(text: String(decoding: raw, as: UTF8.self)) }

    package var isNull: Bool {
        if case .null = content { true } else { false }
    }

    /// What kind of value this is, for a person: "a number".
    package var kindName: String {
        switch content {
        case .null: "null"
        case .bool: "a boolean"
        case .number: "a number"
        case .string: "a string"
        case .array: "a list"
        case .object: "an object"
        }
    }

    /// The member of that name, when this is an object that has one. Names are compared byte for byte.
    package func member(_ name: String) -> JSONValue? {
        guard case .object(let members) = content else { return nil }
        return members.first { $0.name.utf8.elementsEqual(name.utf8) }?.value
    }

    /// A whole number, when this is one, written without fraction and exponent.
    package var integer: Int64? {
        if case .number(let digits) = content { Int64(digits) } else { nil }
    }
}

/// The text of a JSON value, valid and kept byte for byte.
package struct RawJSON: Equatable, Sendable {
    package let text: String

    /// `text` must have come out of a ``JSONValue`` or a composer; nothing is checked again.
    package init(text: String) { self.text = text }

    package var bytes: String.UTF8View { text.utf8 }

    package static func == (left: RawJSON, right: RawJSON) -> Bool {
        left.text.utf8.elementsEqual(right.text.utf8)
    }
}
