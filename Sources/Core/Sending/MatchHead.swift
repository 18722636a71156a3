/// What sending needs to know of a match's newest version; the content itself stays outside.
package struct MatchHead: Equatable, Sendable {
    package var version: Int64
    /// The newest `key` version; 0 if there was none.
    package var urgentVersion: Int64
    /// The newest version that brought an alert; 0 if there was none.
    package var alertVersion: Int64
    /// When that alert is too old to be shown; nil: it was cancelled, or there is none.
    package var alertExpiresAt: Moment?
    /// The version that goes out as `end`.
    package var endVersion: Int64?

    package init(
        version: Int64,
        urgentVersion: Int64 = 0,
        alertVersion: Int64 = 0,
        alertExpiresAt: Moment? = nil,
        endVersion: Int64? = nil
    ) {
        self.version = version
        self.urgentVersion = urgentVersion
        self.alertVersion = alertVersion
        self.alertExpiresAt = alertExpiresAt
        self.endVersion = endVersion
    }

    package var isEnd: Bool {
        version == endVersion
    }
}

/// Alerts outlive their version: whoever has not had one gets it with a later state, unless it is too old or taken
/// back. A newer alert stands for an older one; a correction cancels what is pending (the store then forgets it).
package enum AlertRule {
    /// How long an alert may wait for its push.
    package static let lifetime = Duration.seconds(120)

    /// Whether the match has an alert that can still be shown at `now`.
    package static func isPending(_ head: MatchHead, now: Moment) -> Bool {
        guard head.alertVersion > 0, let expires = head.alertExpiresAt else { return false }
        return now < expires
    }
}
