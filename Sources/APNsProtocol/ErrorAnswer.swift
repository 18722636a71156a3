import FoundationEssentials

/// The body of an error: `{"reason":"…"}`, with 410 also `"timestamp"` in UNIX milliseconds.
package struct ErrorAnswer: Hashable, Sendable {
    /// Empty when the body has none.
    package let reason: String
    package let timestamp: Int64?

    package init(_ body: [UInt8]) {
        let fields = body.isEmpty ? nil : try? JSONDecoder().decode(Fields.self, from: Data(body))
        reason = fields?.reason ?? ""
        timestamp = fields?.timestamp.flatMap { Int64(exactly: $0.rounded()) }
    }

    private struct Fields: Decodable {
        let reason: String?
        let timestamp: Double?
    }
}
