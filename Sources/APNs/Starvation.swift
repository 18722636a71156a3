/// Decides when a lane that gets no connection asks others for theirs: a peer may allow so many at a time, and idle ones hold
/// them.
struct Starvation: Sendable {
    enum Action: Equatable {
        case ask
        case wait(until: ContinuousClock.Instant)
    }

    /// How long pushes wait without a connection that answers before the lane asks.
    let patience: Duration
    /// How long a lane waits that has asked to no avail: the peer's trouble is another one.
    let pause: Duration
    private var isWaiting = false
    private var since: ContinuousClock.Instant?
    private var askedAt: ContinuousClock.Instant?

    init(patience: Duration, pause: Duration = .seconds(30)) {
        self.patience = patience
        self.pause = pause
    }

    /// Pushes wait, and no connection of the lane has answered anything yet.
    mutating func waits(now: ContinuousClock.Instant) -> Action {
        isWaiting = true
        let begin = since ?? now
        since = begin
        let due = max(begin + patience, askedAt.map { $0 + pause } ?? begin)
        guard now >= due else { return .wait(until: due) }
        askedAt = now
        return .ask
    }

    /// A connection of the lane has answered.
    mutating func served() {
        guard isWaiting else { return }
        isWaiting = false
        since = nil
        askedAt = nil
    }
}
