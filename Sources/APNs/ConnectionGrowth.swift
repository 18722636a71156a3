/// Decides how many connections a lane has: one more while pushes wait that none of the others can take, fewer when they
/// have been idle. ``ReconnectRest`` says how long it waits after connections that yielded little.
struct ConnectionGrowth: Sendable {
    /// What the lane knows when it asks.
    struct Facts {
        /// Pushes that wait for a stream, or that will when a connection in doubt is given up.
        var waiting = 0
        /// Connections that are neither draining, nor in doubt, nor being opened.
        var ready = 0
        /// Being opened, or waiting for the answer to their first request.
        var unproven = 0
        /// Connections that may be of no use any more: others stand in for them, and they count only so far that there are
        /// never twice as many as the limit.
        var inDoubt = 0
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
    private(set) var rest: ReconnectRest

    init(limit: Int, rest: ReconnectRest) {
        precondition(limit > 0, "a lane of \(limit) connections")
        self.limit = limit
        self.rest = rest
    }

    /// Asked when pushes wait and no connection can take one.
    ///
    /// At most as many at a time as there are already, and the first alone: a burst of pushes opens as many as it needs and
    /// not as many as it may, and still has eight after three handshakes. What waits is worth a connection where it is
    /// more than a quarter of what is under way: less is gone before a handshake is, unless all of that is on connections
    /// that drain. An urgent push may have one more than the limit, since it finds each of the others full or unwell.
    ///
    /// - Parameters:
    ///   - facts: What the lane knows.
    ///   - now: The clock.
    ///   - random: Uniform in 0 ..< 1.
    /// - Returns: Whether the lane opens one now; that counts as done.
    mutating func decide(_ facts: Facts, now: ContinuousClock.Instant, random: Double) -> Action {
        let isWorthIt = facts.isUrgent || facts.ready == 0 || facts.waiting * 4 > facts.inFlight
        let useful = facts.ready + facts.unproven
        guard facts.waiting > 0, isWorthIt, facts.unproven < max(1, facts.ready),
            useful < limit + (facts.isUrgent ? 1 : 0), useful + facts.inDoubt < 2 * limit + 1
        else { return .none }
        if let notBefore = rest.notBefore, now < notBefore { return .askAgain(at: notBefore) }
        rest.opening(now: now, random: random)
        return .open
    }

    /// See ``ReconnectRest/ended(_:began:now:random:)``.
    mutating func ended(
        _ yield: ReconnectRest.Yield,
        began: ContinuousClock.Instant,
        now: ContinuousClock.Instant,
        random: Double
    ) {
        rest.ended(yield, began: began, now: now, random: random)
    }

    /// The peer asked for quiet.
    mutating func calm(now: ContinuousClock.Instant, random: Double) { rest.calm(now: now, random: random) }

    /// A connection has shown that it is worth its handshake.
    mutating func yielded() { rest.yielded() }

    /// Another lane is to have the next connection.
    mutating func hold(until instant: ContinuousClock.Instant) { rest.hold(until: instant) }

    /// A place has become free.
    mutating func resume(at instant: ContinuousClock.Instant) { rest.resume(at: instant) }

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
