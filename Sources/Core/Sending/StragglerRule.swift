/// What decides about one straggler at the moment when it is to be sent to, with its match's newest version stamped.
package struct StragglerFacts: Equatable, Sendable {
    /// The version that it lacks.
    package var version: Int64
    package var isUrgent: Bool
    /// The alert that it has not had; 0: none.
    package var alertVersion: Int64
    /// Failed pushes of `version`. 0: it stands for a registration.
    package var attempts: Int
    /// The newest version's stamp has seen the phone's registration: its row is the sweep's.
    package var isCovered: Bool
    /// The same of the version that brought the alert.
    package var hearsFromSweep: Bool
    /// A page that may bring the alert to the phone's former row is not committed yet.
    package var isInDoubt: Bool
    /// The sweep of the newest version is over, or has passed the phone's row.
    package var isSwept: Bool
    /// It runs, is about to, or waits for an outage to end; not: pacing holds it back.
    package var isSweepNear: Bool
    /// It runs: it may have read the phone's row.
    package var isSweepRunning: Bool
    /// Live Activities last eight hours: the token is no more.
    package var isExpired: Bool

    package init(
        version: Int64,
        isUrgent: Bool = false,
        alertVersion: Int64 = 0,
        attempts: Int = 0,
        isCovered: Bool = false,
        hearsFromSweep: Bool = false,
        isInDoubt: Bool = false,
        isSwept: Bool = false,
        isSweepNear: Bool = false,
        isSweepRunning: Bool = false,
        isExpired: Bool = false
    ) {
        self.version = version
        self.isUrgent = isUrgent
        self.alertVersion = alertVersion
        self.attempts = attempts
        self.isCovered = isCovered
        self.hearsFromSweep = hearsFromSweep
        self.isInDoubt = isInDoubt
        self.isSwept = isSwept
        self.isSweepNear = isSweepNear
        self.isSweepRunning = isSweepRunning
        self.isExpired = isExpired
    }
}

/// Whether a straggler is sent to, or a sweep does it.
///
/// A version is brought to every phone once: by the sweep to those whose registration the version's stamp has seen, by a
/// straggler to all others, and to whom the sweep failed to reach.
package enum StragglerRule {
    package enum Decision: Equatable, Sendable {
        /// The newest version.
        ///
        /// - Parameters:
        ///   - isUrgent: By the rules of a key version.
        ///   - carriesAlert: The pending one.
        ///   - takesOver: A sweep would send the newest version too, but too late, or without the alert.
        case send(isUrgent: Bool, carriesAlert: Bool, takesOver: Bool)
        /// A sweep brings the newest version, or has brought it.
        case leaveToSweep
        /// Until it is known whether the sweep has brought the alert to the phone's former token, or the version to this one.
        case wait
        /// The token is to be removed.
        case expire
    }

    /// How long to wait before it is looked at again.
    package static let doubt = Duration.milliseconds(250)

    package static func decide(_ facts: StragglerFacts, head: MatchHead, now: Moment) -> Decision {
        if facts.isExpired { return .expire }
        let isRetry = facts.attempts > 0
        let lacksAlert =
            AlertRule.isPending(head, now: now) && facts.alertVersion == head.alertVersion
            && (isRetry || !facts.hearsFromSweep)
        if lacksAlert && facts.isInDoubt { return .wait }
        let isSweeps = facts.isCovered && !(isRetry && facts.version == head.version)
        if isSweeps {
            // That sweep carries no older alert there any more. And pacing may hold it back for a minute: too long for
            // whoever has just registered, or lacks a goal.
            let isHeld = !facts.isSwept && !facts.isSweepNear
            guard lacksAlert || (isHeld && (!isRetry || facts.isUrgent)) else { return .leaveToSweep }
            if facts.isSweepRunning && !facts.isSwept { return .wait }
        }
        return .send(
            isUrgent: facts.isUrgent || lacksAlert || head.isEnd,
            carriesAlert: lacksAlert,
            takesOver: isSweeps && !facts.isSwept
        )
    }
}
