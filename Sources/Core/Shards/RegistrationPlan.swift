/// Which entry a registration opens or renews.
///
/// Its transaction writes the phone's row with a new registration number and then takes the match's shared lock, which
/// keeps a version from being stamped. So either every read of a version sees the row, or the registration sees the
/// version's stamp.
package struct RegistrationPlan: Equatable, Sendable {
    /// To be written; nil: the phone has none, and needs none.
    package var entry: Entry?
    /// Whether the phone shows less than the newest version.
    package var isBehind: Bool

    /// What is known of a phone that is registered. A phone whose token was set aside counts as new.
    package struct Former: Equatable, Sendable {
        package var cadence: Cadence
        package var entry: Entry?

        package init(cadence: Cadence, entry: Entry? = nil) {
            self.cadence = cadence
            self.entry = entry
        }
    }

    /// Decides on a registration.
    ///
    /// - Parameters:
    ///   - shown: The version that the phone says it shows; nil if it names none.
    ///   - cadence: Of the phone.
    ///   - isNewToken: The phone had another token before.
    ///   - former: Nil for a phone that is new, or comes back.
    ///   - reached: What the phone's shard has reached in `cadence`, read without the shard's lock: it only rises, so that an
    ///     old value opens an entry that is not needed.
    ///   - match: Read under the match's shared lock.
    ///   - now: The database's clock.
    package init(
        shown: Int64?,
        cadence: Cadence,
        isNewToken: Bool,
        former: Former?,
        reached: Int64,
        match: StampedMatch,
        now: Moment
    ) {
        // A phone cannot show what has not been sent; one that claims to would never be sent to.
        let shows = min(max(shown ?? 0, 0), match.stampedVersion)
        let needed = match.stampedNeededVersion
        let lacks = shows < needed
        isBehind = lacks
        // A phone that names nothing has had the alerts of before its first registration, as far as it is concerned.
        let alert =
            shown == nil ? (former == nil ? match.stampedAlert : 0) : match.alert(shownBy: shows)

        if var entry = former?.entry {
            entry.version = shows
            entry.alert = entry.alert.map { max($0, alert) }
            entry.attempts = 0
            if entry.hold == nil || !entry.isHeld(at: now) {
                entry.hold = nil
                // What APNs asked for binds the token, and a gap the cadence. A key that was not tried does not wait: the
                // push that brought it to the former registration counts for that one only.
                let mayWait =
                    !isNewToken && cadence == former?.cadence && entry.tried > 0 && !entry.lacksKey(match.keyVersion)
                if !mayWait || entry.isDue(at: now) || entry.dueAt == nil { entry.dueAt = lacks ? now : nil }
            }
            self.entry = entry
        } else if lacks || reached < needed {
            entry = Entry(version: shows, alert: former == nil ? alert : nil, dueAt: lacks ? now : nil)
        }
    }
}
