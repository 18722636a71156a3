internal import Core
internal import Crypto
internal import HTTP2
internal import Store

/// What a list was asked for: `?after=&limit=`.
struct Paging: Sendable {
    /// The place behind which to go on, in parts, as ``JSONOutput/page(_:_:place:)`` wrote it.
    let after: [String]?
    let limit: Int
    let filters: [String: String]

    static let defaultLimit = 100
    static let maxLimit = 1_000

    /// Reads the query.
    ///
    /// `parts` says how many parts a place in this list has, `filters` which other parameters there are. What is wrong is `unknown_field` or `invalid_field`.
    init(_ call: Call, parts: Int, filters names: [String] = []) throws(Problem) {
        var values = try call.target.parameters(["after", "limit"] + names)
        let limit = values.removeValue(forKey: "limit")
        let after = values.removeValue(forKey: "after")
        filters = values
        if let limit {
            guard let count = Int(limit), (1...Self.maxLimit).contains(count) else {
                throw Problem(.invalidField, "limit must be a number from 1 to \(Self.maxLimit)", field: "limit")
            }
            self.limit = count
        } else {
            self.limit = Self.defaultLimit
        }
        guard let after, !after.isEmpty else {
            self.after = nil
            return
        }
        guard let place = Self.parts(after), place.count == parts else {
            throw Problem(
                .invalidField,
                "after is no place in this list",
                field: "after",
                hint: "Give back the value of \"next\" as it came."
            )
        }
        self.after = place
    }

    /// Opaque to clients: parts joined by NUL, which no id holds, in base64url.
    static func place(_ parts: [String]) -> String { Base64URL.encode(parts.joined(separator: "\0").utf8) }

    private static func parts(_ place: String) -> [String]? {
        guard let bytes = Base64URL.decode(place), let text = String(validating: bytes, as: UTF8.self) else {
            return nil
        }
        return text.split(separator: "\0", omittingEmptySubsequences: false).map(String.init)
    }
}

extension HTTPResponse {
    /// `{"items":[…],"next":…}`.
    static func page<Item>(
        _ page: Page<Item>,
        place: (Item) -> [String],
        _ json: (Item) -> JSONOutput
    ) -> HTTPResponse {
        let next = page.hasMore ? page.items.last.map { Paging.place(place($0)) } : nil
        return .json(200, ["items": .array(page.items.map(json)), "next": .string(next)])
    }
}
