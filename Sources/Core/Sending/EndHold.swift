/// When matches end, and what is left to do for them afterwards.
package enum EndHold {
    /// An `end` is held this long: late goals and corrections fold into it.
    package static let hold = Duration.seconds(5)
    /// A match without events ends by itself this long after its kick-off.
    package static let silence = Duration.seconds(6 * 3600)

    /// What the housekeeper does with a match now.
    package enum Duty: Equatable, Sendable {
        case end
        /// The newest state is sent once more, to channels that keep nothing.
        case resend
        case look(at: Moment)
        /// It has ended: tokens and channels are next.
        case afterwards
    }

    /// Decides what is next for one match.
    ///
    /// - Parameters:
    ///   - kickoffAt: Of a match that was created later than that, `lastActivityAt` counts.
    ///   - lastActivityAt: The last event, or the match's creation.
    ///   - endDueAt: When the hold of a requested end is over; nil if none was requested.
    ///   - resendAt: When the newest state is sent once more; nil: not.
    ///   - hasEnded: It has an `end` version already.
    ///   - isCalledOff: Postponed, abandoned or deleted: it ends without an event.
    ///   - now: The database's clock.
    /// - Returns: The one thing to do now, or when to look again.
    package static func duty(
        kickoffAt: Moment,
        lastActivityAt: Moment,
        endDueAt: Moment?,
        resendAt: Moment? = nil,
        hasEnded: Bool,
        isCalledOff: Bool,
        now: Moment
    ) -> Duty {
        let mustResend = resendAt.map { $0 <= now } ?? false
        if hasEnded { return mustResend ? .resend : .afterwards }
        if isCalledOff { return .end }
        let endsAt = endDueAt ?? max(kickoffAt, lastActivityAt) + silence
        if endsAt <= now { return .end }
        return mustResend ? .resend : .look(at: min(endsAt, resendAt ?? endsAt))
    }
}
