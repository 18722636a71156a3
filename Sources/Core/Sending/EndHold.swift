/// When matches end, and what is left to do for them afterwards.
package enum EndHold {
    /// An `end` is held this long: late goals and corrections fold into it.
    package static let hold = Duration.seconds(5)
    /// A match without events ends by itself so long after its kick-off or its last event, unless its app or the match says
    /// otherwise: a cricket night and a rain delay lose no card.
    package static let silence = Duration.seconds(36 * 3600)
    /// What may be set.
    package static let silences: ClosedRange<Int64> = 600...2_592_000
    /// The last part of a silence, in which it is warned of.
    package static func notice(of silence: Duration) -> Duration { silence / 6 }

    /// What the housekeeper does with a match now.
    package enum Duty: Equatable, Sendable {
        case end
        /// The newest state is sent once more, to channels that keep nothing.
        case resend
        case look(at: Moment)
        /// The match ends by itself soon; that is said, and looked at again.
        case warn(endsAt: Moment, look: Moment)
        /// It has ended: tokens and channels are next.
        case afterwards
    }

    /// Decides what is next for one match.
    ///
    /// - Parameters:
    ///   - kickoffAt: Of a match that was created later than that, `lastActivityAt` counts.
    ///   - lastActivityAt: The last event, a heartbeat or a superseded one too; or the match's creation.
    ///   - silence: How long it may be without events.
    ///   - endDueAt: When the hold of a requested end is over; nil if none was requested.
    ///   - resendAt: When the newest state is sent once more; nil: not.
    ///   - hasEnded: It has an `end` version already.
    ///   - isCalledOff: Postponed, abandoned or deleted: it ends without an event.
    ///   - now: The database's clock.
    /// - Returns: The one thing to do now, or when to look again.
    package static func duty(
        kickoffAt: Moment,
        lastActivityAt: Moment,
        silence: Duration = EndHold.silence,
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
        if mustResend { return .resend }
        let next = min(endsAt, resendAt ?? endsAt)
        guard endDueAt == nil else { return .look(at: next) }
        let warnsAt = endsAt - notice(of: silence)
        return warnsAt <= now ? .warn(endsAt: endsAt, look: next) : .look(at: min(warnsAt, next))
    }
}
