/// The troubles that have a section in TROUBLES.md; a test holds both together.
package enum Trouble: String, CaseIterable, Sendable {
    case unchanged = "Accepted, but nothing changes on the phone"
    case unsent = "Events are accepted, and nothing is sent"
    case dates = "Dates are 31 years off"
    case environments = "Sandbox and production are mixed up"
    case topics = "The topic or the bundle id is wrong"
    case startsShowNothing = "A start shows nothing"
    case noUpdateToken = "No update token comes after a start"
    case halfAnHour = "Updates stop after half an hour"
    case tokensEnd = "Tokens end"
    case throttled = "Updates come late or in bursts"
    case expirations = "Pushes for phones that are away get lost"
    case tooBig = "The payload is too big"
    case providerTokens = "The key or the provider token is refused"
    case clock = "The clock is wrong"
    case broadcastOff = "Broadcast is not enabled"
    case channels = "A channel is gone, or no more can be made"
    case outages = "APNs is away, or hangs up"
    case connecting = "APNs cannot be reached"
    case malformed = "APNs calls the request itself wrong"
    case service = "The service does not answer, or says no"
    case database = "The database is away or not up to date"
    case masterKey = "The master key does not fit"

    /// What follows the `#` in a link to its section: as GitHub makes it of the heading.
    package var anchor: String {
        let kept = rawValue.lowercased().filter { $0.isLetter || $0.isNumber || $0 == " " || $0 == "-" }
        return String(kept.map { $0 == " " ? "-" : $0 })
    }

    /// As it is printed: `TROUBLES.md#dates-are-31-years-off`.
    package var place: String { "TROUBLES.md#\(anchor)" }
}
