/// One bound parameter. The server infers its type from the statement; write `$1::bigint` where that is ambiguous.
package enum PGValue: Equatable, Sendable {
    case null
    /// Any type that has a text form: `text`, `uuid`, `jsonb`, `numeric`, an enum, …
    case text(String)
    case int(Int64)
    case bool(Bool)
    case double(Double)
    /// `bytea`, sent as it is.
    case bytes([UInt8])
    case timestamp(PGTimestamp)
    /// An array of anything with a text form: `unnest($1::text[])`, `unnest($1::uuid[])`.
    case textArray([String?])
    /// `bigint[]`, `int[]`, …
    case int8Array([Int64?])
    case boolArray([Bool?])
    case timestampArray([PGTimestamp?])
    /// `bytea[]`, sent in binary.
    case byteaArray([[UInt8]?])
}

extension PGValue {
    package static func text(_ value: String?) -> PGValue { value.map { .text($0) } ?? .null }
    package static func int(_ value: Int64?) -> PGValue { value.map { .int($0) } ?? .null }
    package static func int(_ value: Int) -> PGValue { .int(Int64(value)) }
    package static func bool(_ value: Bool?) -> PGValue { value.map { .bool($0) } ?? .null }
    package static func bytes(_ value: [UInt8]?) -> PGValue { value.map { .bytes($0) } ?? .null }
    package static func timestamp(_ value: PGTimestamp?) -> PGValue { value.map { .timestamp($0) } ?? .null }
}

extension PGValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByNilLiteral
{
    package init(stringLiteral value: String) { self = .text(value) }
    package init(integerLiteral value: Int64) { self = .int(value) }
    package init(booleanLiteral value: Bool) { self = .bool(value) }
    package init(nilLiteral: ()) { self = .null }
}

/// A statement and its parameters, for a pipeline.
package struct PGStatement: Equatable, Sendable, ExpressibleByStringLiteral {
    package let sql: String
    package let parameters: [PGValue]

    package init(_ sql: String, _ parameters: [PGValue] = []) {
        self.sql = sql
        self.parameters = parameters
    }

    package init(stringLiteral value: String) { self.init(value) }
}
