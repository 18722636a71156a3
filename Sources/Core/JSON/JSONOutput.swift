/// JSON to be written: answers of the API, and what is composed of parts that came as they are.
package indirect enum JSONOutput: Sendable {
    case null
    case bool(Bool)
    case number(Int64)
    /// Finite; written as Swift describes it.
    case double(Double)
    case string(String)
    case raw(RawJSON)
    case array([JSONOutput])
    case object([(String, JSONOutput)])

    package static func int(_ value: Int) -> JSONOutput { .number(Int64(value)) }
    package static func string(_ value: String?) -> JSONOutput { value.map { .string($0) } ?? .null }
    package static func number(_ value: Int64?) -> JSONOutput { value.map { .number($0) } ?? .null }
    package static func time(_ value: Timestamp?) -> JSONOutput { .string(value?.description) }

    package var bytes: [UInt8] {
        var bytes: [UInt8] = []
        append(to: &bytes)
        return bytes
    }

    package func append(to bytes: inout [UInt8]) {
        switch self {
        case .null: bytes += "null".utf8
        case .bool(let value): bytes += (value ? "true" : "false").utf8
        case .number(let value): bytes += String(value).utf8
        case .double(let value): bytes += value.description.utf8
        case .string(let text): Self.appendQuoted(text, to: &bytes)
        case .raw(let json): bytes += json.bytes
        case .array(let values):
            bytes.append(UInt8(ascii: "["))
            for (index, value) in values.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                value.append(to: &bytes)
            }
            bytes.append(UInt8(ascii: "]"))
        case .object(let members):
            bytes.append(UInt8(ascii: "{"))
            for (index, member) in members.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                Self.appendQuoted(member.0, to: &bytes)
                bytes.append(UInt8(ascii: ":"))
                member.1.append(to: &bytes)
            }
            bytes.append(UInt8(ascii: "}"))
        }
    }

    /// Only what must be escaped is (RFC 8259, 7).
    static func appendQuoted(_ text: String, to bytes: inout [UInt8]) {
        let digits = Array("0123456789abcdef".utf8)
        bytes.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes += [UInt8(ascii: "\\"), byte]
            case 0x0A: bytes += "\\n".utf8
            case 0x00..<0x20: bytes += "\\u00".utf8 + [digits[Int(byte >> 4)], digits[Int(byte & 0xF)]]
            default: bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }
}

extension JSONOutput: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByNilLiteral, ExpressibleByDictionaryLiteral, ExpressibleByArrayLiteral
{
    package init(stringLiteral value: String) { self = .string(value) }
    package init(booleanLiteral value: Bool) { self = .bool(value) }
    package init(integerLiteral value: Int64) { self = .number(value) }
    package init(nilLiteral: ()) { self = .null }
    package init(dictionaryLiteral elements: (String, JSONOutput)...) { self = .object(elements) }
    package init(arrayLiteral elements: JSONOutput...) { self = .array(elements) }
}
