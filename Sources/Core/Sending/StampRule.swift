/// Which `aps.timestamp` a match's newest version gets.
///
/// A phone ignores what is older than the stamp that it shows, so stamps rise strictly for a match, whatever clocks do
/// and however fast events come. A stamp belongs to (match, version): all targets and resends carry it.
package enum StampRule {
    package enum Answer: Equatable, Sendable {
        /// UNIX seconds.
        case stamp(Int64)
        /// Stamps have run ahead of the clock; versions that come meanwhile are merged.
        case wait(until: Moment)
    }

    /// How far the last stamp may be ahead for a `key` version to get one, seconds.
    static let lead: Int64 = 2
    /// The same for a routine version: a flood of clock events must not use up what a goal would need.
    static let routineLead: Int64 = 0

    /// - Parameters:
    ///   - last: The match's last stamp, UNIX seconds; 0 if it has none.
    ///   - now: The database's clock.
    ///   - isUrgent: A `key` version has not had a stamp, nor has a newer one.
    /// - Returns: The stamp, or when there will be one.
    package static func next(after last: Int64, now: Moment, isUrgent: Bool) -> Answer {
        let lead = isUrgent ? lead : routineLead
        if last > now.seconds + lead {
            return .wait(until: Moment(seconds: last - lead))
        }
        return .stamp(max(now.seconds, last + 1))
    }
}
