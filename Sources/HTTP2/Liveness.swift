/// Decides when a silent connection is asked whether it still lives, and when it counts as dead.
package struct Liveness: Sendable {
    package enum Action: Equatable, Sendable {
        /// Ask again at this instant, or when something came in.
        case wait(until: ContinuousClock.Instant)
        case ping
        case dead
    }

    /// Silence before a PING while streams are open.
    package let busyInterval: Duration
    /// Silence before a PING while none is.
    package let idleInterval: Duration
    /// How long the answer may take.
    package let timeout: Duration

    private var lastReceived: ContinuousClock.Instant
    private var pingSent: ContinuousClock.Instant?

    package init(busyInterval: Duration, idleInterval: Duration, timeout: Duration, now: ContinuousClock.Instant) {
        self.busyInterval = busyInterval
        self.idleInterval = idleInterval
        self.timeout = timeout
        lastReceived = now
    }

    /// Any bytes of the peer show that it lives, the PING's answer among them.
    package mutating func received(now: ContinuousClock.Instant) {
        lastReceived = now
        pingSent = nil
    }

    /// Whether a PING is under way: a connection to avoid while there is another.
    package var isInDoubt: Bool { pingSent != nil }

    /// What to do at `now`.
    ///
    /// - Parameters:
    ///   - since: Since when streams are open without a break; `nil` while none is. An idle connection's silence says
    ///     nothing about the streams that were opened just now.
    ///   - now: The clock.
    /// - Returns: The one thing to do; a PING counts as sent.
    package mutating func check(busySince since: ContinuousClock.Instant?, now: ContinuousClock.Instant) -> Action {
        if let pingSent {
            let end = pingSent + timeout
            return now >= end ? .dead : .wait(until: end)
        }
        let due = since.map { max($0, lastReceived) + busyInterval } ?? lastReceived + idleInterval
        guard now >= due else { return .wait(until: due) }
        pingSent = now
        return .ping
    }
}
