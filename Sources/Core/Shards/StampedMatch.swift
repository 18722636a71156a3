/// What sending needs to know of a match; the content state stays outside.
///
/// Only the newest version goes out, and only once it has a stamp.
package struct StampedMatch: Equatable, Sendable {
    /// The newest accepted version.
    package var version: Int64
    /// The newest version that has a stamp.
    package var stampedVersion: Int64
    /// The newest version except those that only repeat the state on channels.
    package var neededVersion: Int64
    /// The newest version that is a key event, brings an alert, or is an end; 0 if there is none.
    package var keyVersion: Int64
    /// The newest version that brought an alert; 0 if there is none.
    package var alertVersion: Int64
    /// When that alert is too old to be shown. Nil: it was taken back, or there is none.
    package var alertExpiresAt: Moment?
    /// The version that ended the match. Later versions only repeat the end on channels.
    package var endVersion: Int64?

    package init(
        version: Int64 = 0,
        stampedVersion: Int64 = 0,
        neededVersion: Int64 = 0,
        keyVersion: Int64 = 0,
        alertVersion: Int64 = 0,
        alertExpiresAt: Moment? = nil,
        endVersion: Int64? = nil
    ) {
        self.version = version
        self.stampedVersion = stampedVersion
        self.neededVersion = neededVersion
        self.keyVersion = keyVersion
        self.alertVersion = alertVersion
        self.alertExpiresAt = alertExpiresAt
        self.endVersion = endVersion
    }

    package var isStamped: Bool {
        stampedVersion == version
    }

    /// Whether the newest version goes out as `end`.
    package var isEnd: Bool {
        endVersion.map { version >= $0 } ?? false
    }

    /// The alert that goes with a push to whoever has not had it; 0 if none can still be shown.
    package func pendingAlert(at now: Moment) -> Int64 {
        guard let alertExpiresAt, now < alertExpiresAt else { return 0 }
        return alertVersion
    }

    /// The needed version as a registration or a new shard sees it. It may be too high by a repeat that channels
    /// got, which opens an entry that is not needed, and is never too low.
    package var stampedNeededVersion: Int64 {
        min(neededVersion, stampedVersion)
    }

    /// The newest alert of a stamped version. A newer one that is not stamped yet replaces the older ones: then 0.
    package var stampedAlert: Int64 {
        alertVersion <= stampedVersion ? alertVersion : 0
    }

    /// The newest alert that a phone has had if it shows `version`.
    package func alert(shownBy version: Int64) -> Int64 {
        version >= alertVersion ? alertVersion : 0
    }
}

// What an event changes.
extension StampedMatch {
    /// Accepts an event.
    ///
    /// - Parameters:
    ///   - isKey: By the event's importance. An event with an alert is a key event.
    ///   - expiry: Of the event's own alert; nil if it brings none.
    ///   - takesAlertsBack: A correction: no phone gets an older alert any more.
    package mutating func accept(isKey: Bool, alertExpiresAt expiry: Moment? = nil, takesAlertsBack: Bool = false) {
        version += 1
        neededVersion = version
        if isKey || expiry != nil { keyVersion = version }
        if takesAlertsBack { alertExpiresAt = nil }
        if let expiry {
            alertVersion = version
            alertExpiresAt = expiry
        }
    }

    /// Makes the end the newest version.
    package mutating func end() {
        accept(isKey: true)
        endVersion = version
    }

    /// Repeats the newest state on channels that keep nothing: a version without an event, for its new stamp. No phone
    /// needs it.
    package mutating func repeatOnChannels() {
        version += 1
    }

    package mutating func stamp() {
        stampedVersion = version
    }
}
