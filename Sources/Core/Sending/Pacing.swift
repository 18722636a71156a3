/// How often a target may be sent to: the numbers of its app for its cadence. They are ours; Apple publishes none.
package struct PacingLimits: Equatable, Sendable {
    /// The least time between two routine updates.
    package var gap: Duration
    /// How many pushes of priority 10 may go within any hour.
    package var urgentPerHour: Int

    package init(gap: Duration, urgentPerHour: Int) {
        self.gap = gap
        self.urgentPerHour = urgentPerHour
    }
}

/// What a target's pacing remembers.
package struct PacingRecord: Equatable, Sendable {
    /// When pushes of priority 10 went out, oldest first; none older than an hour, nor in the future, once
    /// ``note(priority:isUrgent:at:)`` ran.
    package var urgentAt: [Moment]
    /// When the last routine update went out.
    package var routineAt: Moment?

    package init(urgentAt: [Moment] = [], routineAt: Moment? = nil) {
        self.urgentAt = urgentAt
        self.routineAt = routineAt
    }

    /// Remembers that a push decided on goes out at `now`.
    package mutating func note(priority: Int, isUrgent: Bool, at now: Moment) {
        urgentAt.removeAll { $0 <= now - Pacing.window || $0 > now }
        if priority == 10 { urgentAt.append(now) }
        if !isUrgent { routineAt = now }
    }
}

/// When a target may be sent to, and at which priority. Decided here and nowhere else.
package enum Pacing {
    package enum Decision: Equatable, Sendable {
        /// - Parameter downgraded: It would have gone at priority 10, but the hour's allowance is used up.
        case send(priority: Int, downgraded: Bool)
        case wait(until: Moment)
    }

    package enum Urgency: Equatable, Sendable {
        case routine
        case key
        /// An `end` always goes at priority 10: nothing after it can make up for it.
        case end
    }

    /// The allowance of priority-10 pushes slides over an hour.
    static let window = Duration.seconds(3600)

    package static func decide(
        _ urgency: Urgency,
        record: PacingRecord,
        limits: PacingLimits,
        now: Moment
    ) -> Decision {
        switch urgency {
        case .end:
            return .send(priority: 10, downgraded: false)
        case .key:
            // Those in the future were noted by a clock that was set back since: when they were is not known.
            let used = record.urgentAt.count { $0 > now - window && $0 <= now }
            let isAllowed = used < limits.urgentPerHour
            return .send(priority: isAllowed ? 10 : 5, downgraded: !isAllowed)
        case .routine:
            // A last update in the future means a clock that was set back: not a reason to hold anything.
            guard let last = record.routineAt, last <= now, last + limits.gap > now else {
                return .send(priority: 5, downgraded: false)
            }
            return .wait(until: last + limits.gap)
        }
    }
}
