/// What a pool knows, without the connections themselves: facts in, action out, time passed in.
struct PoolState {
    /// What the caller who asks for a connection does.
    enum LeaseAction: Equatable {
        /// Takes the connection that was released last: its caches are warm, and the others may fall idle.
        case takeIdle
        /// Opens one, and says ``opened()`` or ``openFailed(now:jitter:)``.
        case open
        /// Waits for a release.
        case wait
        /// Too many wait already.
        case refuse
        /// The last attempt to connect failed a moment ago.
        case backOff
    }

    /// What the caller does whose connection the server had no room for.
    enum RefusedAction: Equatable {
        /// Asks again: it waits for one of those that are there.
        case askAgain
        /// There are none: it tries once more behind a pause, in the name of all who wait.
        case retry(after: Duration)
    }

    private let limit: Int
    private let mostWaiting: Int
    private(set) var idle = 0
    private(set) var opening = 0
    private(set) var leased = 0
    private(set) var waiting = 0
    private var failures = 0
    private var closedUntil: ContinuousClock.Instant?
    /// How many the server let in when it last refused one, and when to try one more.
    private var ceiling: (count: Int, nextTry: ContinuousClock.Instant)?
    private var refusals = 0
    private(set) var isShutDown = false

    init(limit: Int, mostWaiting: Int) {
        precondition(limit > 0, "a pool of \(limit) connections")
        self.limit = limit
        self.mostWaiting = mostWaiting
    }

    /// Whether the last attempt to connect succeeded.
    var isReachable: Bool { failures == 0 }

    mutating func lease(now: ContinuousClock.Instant) -> LeaseAction {
        if isShutDown { return .refuse }
        if idle > 0 {
            idle -= 1
            leased += 1
            return .takeIdle
        }
        if count < roof(now) {
            if let closedUntil, now < closedUntil { return .backOff }
            opening += 1
            return .open
        }
        guard waiting < mostWaiting else { return .refuse }
        waiting += 1
        return .wait
    }

    private var count: Int { idle + opening + leased }

    private func roof(_ now: ContinuousClock.Instant) -> Int {
        guard let ceiling else { return limit }
        return min(limit, now < ceiling.nextTry ? max(ceiling.count, 1) : ceiling.count + 1)
    }

    mutating func opened() {
        opening -= 1
        leased += 1
        failures = 0
        refusals = 0
        closedUntil = nil
        // One more than the server let in before: it may have room for the next, too.
        if let ceiling, idle + leased > ceiling.count { self.ceiling?.count = idle + leased }
    }

    /// The server has no room for another connection: a role's, a database's or its own limit. It is left alone for 5 s
    /// then, and works with those that are there.
    ///
    /// - Parameters:
    ///   - now: The time.
    ///   - jitter: 0 to 1, at random.
    /// - Returns: What the caller does. With a retry it counts as opening still.
    mutating func openRefused(now: ContinuousClock.Instant, jitter: Double) -> RefusedAction {
        ceiling = (idle + leased, now + .seconds(5))
        guard count == 1 else {
            opening -= 1
            return .askAgain
        }
        refusals += 1
        return .retry(after: min(.milliseconds(50) * (1 << min(refusals - 1, 6)), .seconds(1)) * (0.5 + jitter / 2))
    }

    /// The caller's time is up, and the server had room for none.
    mutating func openGivenUp() { opening -= 1 }

    /// 50 ms, doubling up to 2 s, each between half and the whole of it.
    ///
    /// - Parameters:
    ///   - now: The time.
    ///   - jitter: 0 to 1, at random: the processes of a fleet must not come back all at once.
    mutating func openFailed(now: ContinuousClock.Instant, jitter: Double) {
        opening -= 1
        failures += 1
        let pause = Duration.milliseconds(50) * (1 << min(failures - 1, 6))
        closedUntil = now + min(pause, .seconds(2)) * (0.5 + jitter / 2)
    }

    /// A connection comes back.
    ///
    /// - Returns: Whether it goes to the one who has waited longest; else it is idle now, or gone.
    mutating func released(isUsable: Bool) -> Bool {
        leased -= 1
        guard isUsable, !isShutDown else { return false }
        if waiting > 0 {
            waiting -= 1
            leased += 1
            return true
        }
        idle += 1
        return false
    }

    /// A waiter gives up, or asks again.
    mutating func stoppedWaiting() { waiting -= 1 }

    /// - Returns: How many idle connections are to be closed.
    mutating func shutDown() -> Int {
        isShutDown = true
        defer { idle = 0 }
        return idle
    }
}
