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

    /// How far stamps may run ahead, seconds.
    static let lead: Int64 = 2

    /// - Parameters:
    ///   - last: The match's last stamp, UNIX seconds; 0 if it has none.
    ///   - now: The database's clock.
    /// - Returns: The stamp, or when there will be one.
    package static func next(after last: Int64, now: Moment) -> Answer {
        if last > now.seconds + lead {
            return .wait(until: Moment(seconds: last - lead))
        }
        return .stamp(max(now.seconds, last + 1))
    }
}
