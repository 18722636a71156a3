import FoundationEssentials

/// The body of an error: `{"reason":"…"}`, with 410 also `"timestamp"` in UNIX milliseconds.
///
/// Each is read by itself: an odd timestamp does not cost the reason.
package struct ErrorAnswer: Hashable, Sendable {
    /// Printable, at most ``mostReasonCharacters`` long; empty when the body has none.
    package let reason: String
    /// UNIX milliseconds; nil when the body has none, or none that can be a time.
    package let timestamp: Int64?

    /// Reasons go into the database, the log and answers; APNs' longest has 27 characters.
    private static let mostReasonCharacters = 200
    /// Times from here on are milliseconds (1973), below it they are seconds, as of some of APNs' imitations.
    private static let leastMilliseconds = 1e11
    /// The end of the year 9999, in milliseconds.
    private static let mostMilliseconds = 253_402_300_799_999.0

    package init(_ body: [UInt8]) {
        let fields = body.isEmpty ? nil : try? JSONDecoder().decode(Fields.self, from: Data(body))
        reason = fields?.reason.map(Self.printable) ?? ""
        timestamp = fields?.timestamp.flatMap(Self.milliseconds)
    }

    private static func printable(_ reason: String) -> String {
        String(reason.prefix(mostReasonCharacters).map { $0.unicodeScalars.allSatisfy(isPrintable) ? $0 : "?" })
    }

    private static func isPrintable(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value >= 0x20 && scalar.value != 0x7F && !(0x80...0x9F).contains(scalar.value)
    }

    private static func milliseconds(_ number: Double) -> Int64? {
        let milliseconds = (1e9..<leastMilliseconds).contains(number) ? number * 1000 : number
        guard milliseconds >= 0, milliseconds <= mostMilliseconds else { return nil }
        return Int64(milliseconds.rounded())
    }

    private struct Fields: Decodable {
        let reason: String?
        let timestamp: Double?

        private enum CodingKeys: String, CodingKey { case reason, timestamp }

        init(from decoder: any Decoder) throws {
            let fields = try decoder.container(keyedBy: CodingKeys.self)
            reason = try? fields.decode(String.self, forKey: .reason)
            let number = try? fields.decode(Double.self, forKey: .timestamp)
            timestamp = number ?? (try? fields.decode(String.self, forKey: .timestamp)).flatMap(Double.init)
        }
    }
}
