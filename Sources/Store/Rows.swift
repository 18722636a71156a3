internal import Core
internal import PostgreSQL

extension PGRow {
    func time(_ column: Int) -> Timestamp { Timestamp(microseconds: timestamp(column).unixMicroseconds) }

    func optionalTime(_ column: Int) -> Timestamp? {
        optionalTimestamp(column).map { Timestamp(microseconds: $0.unixMicroseconds) }
    }

    func json(_ column: Int) -> RawJSON { RawJSON(text: text(column)) }

    func optionalJSON(_ column: Int) -> RawJSON? { optionalText(column).map { RawJSON(text: $0) } }
}

extension PGValue {
    static func time(_ time: Timestamp?) -> PGValue {
        .timestamp(time.map { PGTimestamp(unixMicroseconds: $0.microseconds) })
    }

    static func json(_ json: RawJSON?) -> PGValue { .text(json?.text) }
}

/// A part of a list.
package struct Page<Item: Sendable>: Sendable {
    package let items: [Item]
    /// Whether more follow the last of ``items``.
    package let hasMore: Bool

    /// Takes one row more than was asked for as the sign that there are more.
    package init(_ rows: [Item], limit: Int) {
        items = Array(rows.prefix(limit))
        hasMore = rows.count > limit
    }
}
