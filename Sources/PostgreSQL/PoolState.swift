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

    private let limit: Int
    private let mostWaiting: Int
    private(set) var idle = 0
    private(set) var opening = 0
    private(set) var leased = 0
    private(set) var waiting = 0
    private var failures = 0
    private var closedUntil: ContinuousClock.Instant?
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
        if idle + opening + leased < limit {
            if let closedUntil, now < closedUntil { return .backOff }
            opening += 1
            return .open
        }
        guard waiting < mostWaiting else { return .refuse }
        waiting += 1
        return .wait
    }

    mutating func opened() {
        opening -= 1
        leased += 1
        failures = 0
        closedUntil = nil
    }

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
