/// When matches end, and what is left to do for them afterwards.
package enum EndHold {
    /// An `end` is held this long: late goals and corrections fold into it.
    package static let hold = Duration.seconds(5)
    /// A match without events ends by itself this long after its kick-off.
    package static let silence = Duration.seconds(6 * 3600)

    /// What the housekeeper does with a match now.
    package enum Duty: Equatable, Sendable {
        case end
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
    ///   - hasEnded: It has an `end` version already.
    ///   - isCalledOff: Postponed, abandoned or deleted: it ends without an event.
    ///   - now: The database's clock.
    /// - Returns: The one thing to do now, or when to look again.
    package static func duty(
        kickoffAt: Moment,
        lastActivityAt: Moment,
        endDueAt: Moment?,
        hasEnded: Bool,
        isCalledOff: Bool,
        now: Moment
    ) -> Duty {
        if hasEnded { return .afterwards }
        if isCalledOff { return .end }
        if let endDueAt { return endDueAt <= now ? .end : .look(at: endDueAt) }
        let silentUntil = max(kickoffAt, lastActivityAt) + silence
        return silentUntil <= now ? .end : .look(at: silentUntil)
    }
}
