/// Decides how many connections a lane has: one more while pushes wait that none of the others can take, fewer when they
/// have been idle.
struct ConnectionGrowth: Sendable {
    /// What the lane knows when it asks.
    struct Facts {
        /// Pushes that wait for a stream.
        var waiting = 0
        /// Connections that are neither draining nor being opened.
        var ready = 0
        /// Being opened, or waiting for the answer to their first request.
        var unproven = 0
        /// Pushes under way.
        var inFlight = 0
        /// The first of those that wait is urgent and goes to a channel.
        var isUrgent = false
    }

    enum Action: Equatable {
        case none
        case open
        case askAgain(at: ContinuousClock.Instant)
    }

    let limit: Int
    private var backOff: BackOff
    private var notBefore: ContinuousClock.Instant?

    init(limit: Int, backOff: BackOff) {
        precondition(limit > 0, "a lane of \(limit) connections")
        self.limit = limit
        self.backOff = backOff
    }

    /// Asked when pushes wait and no connection can take one.
    ///
    /// At most as many at a time as there are already, and the first alone: a burst of pushes opens as many as it needs and
    /// not as many as it may, and still has eight after three handshakes. What waits is worth a connection where it is
    /// more than a quarter of what is under way: less is gone before a handshake is, unless all of that is on connections
    /// that drain. An urgent push may have one more than the limit, since it finds each of the others full or unwell.
    func decide(_ facts: Facts, now: ContinuousClock.Instant) -> Action {
        let isWorthIt = facts.isUrgent || facts.ready == 0 || facts.waiting * 4 > facts.inFlight
        guard facts.waiting > 0, isWorthIt, facts.unproven < max(1, facts.ready),
            facts.ready + facts.unproven < limit + (facts.isUrgent ? 1 : 0)
        else { return .none }
        if let notBefore, now < notBefore { return .askAgain(at: notBefore) }
        return .open
    }

    /// No connection came about, or one ended before its first answer: the next waits longer.
    mutating func failed(now: ContinuousClock.Instant, random: Double) {
        notBefore = now + backOff.failed(random: random)
    }

    /// A connection ended soon after it had answered: the next waits a moment, which does not grow.
    mutating func rest(until instant: ContinuousClock.Instant) {
        notBefore = max(notBefore ?? instant, instant)
    }

    /// A connection answered a request.
    mutating func succeeded() {
        backOff.succeeded()
        notBefore = nil
    }

    /// Whether an idle connection is one too many.
    ///
    /// - Parameters:
    ///   - idleFor: Since its last stream ended.
    ///   - others: Connections of the lane beside it.
    ///   - shrinkAfter: How long one of several may idle.
    ///   - closeAfter: How long the last one may.
    /// - Returns: Whether it should be retired.
    static func isSurplus(idleFor: Duration, others: Int, shrinkAfter: Duration, closeAfter: Duration) -> Bool {
        idleFor >= (others > 0 ? shrinkAfter : closeAfter)
    }
}
