/// Decides when a silent connection is asked whether it still lives, and when it counts as dead.
package struct Liveness: Sendable {
    package enum Action: Equatable, Sendable {
        /// Ask again at this instant, or when something came in.
        case wait(until: ContinuousClock.Instant)
        case ping
        /// Told once a PING, when its answer takes long.
        case doubt
        case dead
    }

    /// When a connection is asked, and how long that may take.
    package struct Intervals: Equatable, Sendable {
        /// Silence before a PING while streams are open.
        package var busy: Duration
        /// Silence before a PING while none is.
        package var idle: Duration
        /// How long the answer may take.
        package var timeout: Duration
        /// After this silence the first request takes a PING along.
        package var trustedSilence: Duration
        /// How long the answer to that one may take.
        package var probeTimeout: Duration
        /// A PING without an answer for so long puts the connection in doubt.
        package var patience: Duration
    }

    private struct Ping {
        let sent: ContinuousClock.Instant
        var end: ContinuousClock.Instant
        var isDoubtTold = false
    }

    private let intervals: Intervals
    private var lastReceived: ContinuousClock.Instant
    private var ping: Ping?

    package init(_ intervals: Intervals, now: ContinuousClock.Instant) {
        self.intervals = intervals
        lastReceived = now
    }

    /// Any bytes of the peer show that it lives, the PING's answer among them.
    package mutating func received(now: ContinuousClock.Instant) {
        lastReceived = now
        ping = nil
    }

    /// Whether a PING is under way: a connection to avoid while there is another.
    package var isAsked: Bool { ping != nil }

    /// Whether a PING has been without an answer for longer than it mostly takes: another connection is wanted.
    package func isInDoubt(now: ContinuousClock.Instant) -> Bool {
        ping.map { now - $0.sent >= intervals.patience } ?? false
    }

    /// The connection is about to be used after an idle time.
    ///
    /// - Returns: Whether it is to be asked now; a PING counts as sent. A link may have died without a word meanwhile.
    package mutating func used(now: ContinuousClock.Instant) -> Bool {
        let end = now + intervals.probeTimeout
        if let ping {
            self.ping?.end = min(ping.end, end)
            return false
        }
        guard now - lastReceived >= intervals.trustedSilence else { return false }
        ping = Ping(sent: now, end: end)
        return true
    }

    /// What to do at `now`.
    ///
    /// - Parameters:
    ///   - since: Since when streams are open without a break; `nil` while none is. An idle connection's silence says
    ///     nothing about the streams that were opened just now.
    ///   - now: The clock.
    /// - Returns: The one thing to do; a PING counts as sent.
    package mutating func check(busySince since: ContinuousClock.Instant?, now: ContinuousClock.Instant) -> Action {
        if let ping {
            if now >= ping.end { return .dead }
            let doubt = ping.sent + intervals.patience
            guard !ping.isDoubtTold else { return .wait(until: ping.end) }
            guard now >= doubt else { return .wait(until: min(doubt, ping.end)) }
            self.ping?.isDoubtTold = true
            return .doubt
        }
        let due = since.map { max($0, lastReceived) + intervals.busy } ?? lastReceived + intervals.idle
        guard now >= due else { return .wait(until: due) }
        ping = Ping(sent: now, end: now + intervals.timeout)
        return .ping
    }
}
