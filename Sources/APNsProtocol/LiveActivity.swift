/// What a push does to a Live Activity: `aps.event`.
package enum LiveActivityEvent: String, CaseIterable, Sendable {
    case start
    case update
    case end
}

/// Whether APNs keeps a channel's newest push for phones that are away. Fixed when the channel is created.
package enum StoragePolicy: Int, CaseIterable, Sendable {
    case noMessageStored = 0
    case mostRecentMessageStored = 1

    /// The longest that a push is kept under policy 1.
    package static let longestStorage: Duration = .seconds(8 * 3_600)
}

/// The size limits of Apple's pages, in bytes of uncompressed JSON.
package enum PushLimits {
    package static let devicePayloadBytes = 4_096
    package static let broadcastPayloadBytes = 5_120
    /// Static attributes and content state together, whatever the route (ActivityKit).
    package static let activityDataBytes = 4_096
    package static let collapseIDBytes = 64
    /// Channels of one app in one environment.
    package static let channelsPerApp = 10_000
}
