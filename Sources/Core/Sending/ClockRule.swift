/// Notices that the database's clock was set back, or that another database with an earlier clock answers now.
///
/// Whatever is due at a time would wait until the clock has caught up: minutes, or an hour. So what waits is looked at
/// at once, and claims whose holders are gone end as if they had been made now. A clock that is set ahead lets nothing
/// wait.
package enum ClockRule {
    /// Processes read the clock one after the other, and PostgreSQL's moves are seen a little late.
    private static let tolerance = Duration.seconds(2)
    /// The longest that a claim is held without being renewed: what is under way ends within it, and is written down.
    package static let longestClaim = Duration.seconds(30)

    package enum Duty: Equatable, Sendable {
        /// All is well.
        case none
        /// The clock was set back by about so much.
        case mend(by: Duration)
        /// What was claimed by the earlier clock and not renewed has no holder any more.
        case endClaims
    }

    /// - Parameters:
    ///   - seenAt: The latest time that was seen on the clock.
    ///   - now: What it shows.
    ///   - claimsEndAt: Set after the clock was set back, by its new time.
    /// - Returns: What is to be done now.
    package static func duty(seenAt: Moment, now: Moment, claimsEndAt: Moment?) -> Duty {
        if now + tolerance < seenAt { return .mend(by: seenAt - now) }
        if let claimsEndAt, claimsEndAt <= now { return .endClaims }
        return .none
    }
}
