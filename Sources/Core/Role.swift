/// What an API key may do.
package enum Role: String, CaseIterable, Sendable {
    /// Tenants, and everything of every tenant.
    case `operator`
    /// Everything of one tenant.
    case admin
    /// Events.
    case feed
    /// Channels and activities of matches, devices.
    case app
    /// Looking.
    case read
}

/// How many channels a match of an app has.
package enum ChannelMode: String, CaseIterable, Sendable {
    case single
    case byCadence = "by_cadence"
    case none
}

/// Where a match stands.
package enum MatchStatus: String, CaseIterable, Sendable {
    case scheduled
    case live
    case ended
    case postponed
    case abandoned
}
