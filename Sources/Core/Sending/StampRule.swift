/// Which `aps.timestamp` a match's newest version gets.
///
/// A phone ignores what is older than the stamp that it shows, so stamps rise strictly for a match, whatever clocks do
/// and however fast events come. A stamp belongs to (match, version): all targets and resends carry it. Phones need a
/// greater stamp, not a true one: no version waits until a clock that was set back has caught up.
package enum StampRule {
    package enum Answer: Equatable, Sendable {
        /// UNIX seconds.
        case stamp(Int64)
        /// Stamps have run ahead of the clock; versions that come meanwhile are merged.
        case wait(until: Moment)
    }

    /// How far the last stamp may be ahead for a `key` version to get one at once, seconds.
    static let lead: Int64 = 2
    /// The same for a routine version: a flood of clock events must not use up what a goal would need.
    static let routineLead: Int64 = 0
    /// The least time between two stamps while they are ahead, so that a flood of versions carries them no further.
    static let spacing = Duration.seconds(1)
    /// No flood carries stamps this far, seconds: the clock was ahead, or is behind.
    private static let longestLead: Int64 = 10

    /// Whether the last stamp is so far ahead that a clock is wrong.
    package static func isClockWrong(last: Int64, now: Moment) -> Bool {
        last > now.seconds + longestLead
    }

    /// Decides on the newest version's stamp.
    ///
    /// - Parameters:
    ///   - last: The match's last stamp, UNIX seconds; 0 if it has none.
    ///   - stampedAt: When it was given; nil: unknown.
    ///   - now: The database's clock.
    ///   - isUrgent: A `key` version has not had a stamp, nor has a newer one.
    /// - Returns: The stamp, or when there will be one, within a second.
    package static func next(after last: Int64, stampedAt: Moment?, now: Moment, isUrgent: Bool) -> Answer {
        let lead = isUrgent ? lead : routineLead
        // One that was given in the future tells of a clock that was set back since.
        if last > now.seconds + lead, let stampedAt, stampedAt <= now, now < stampedAt + spacing {
            return .wait(until: min(Moment(seconds: last - lead), stampedAt + spacing))
        }
        return .stamp(max(now.seconds, last + 1))
    }
}
