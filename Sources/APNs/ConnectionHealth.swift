/// Judges a connection by its answers. PINGs show that somebody is there, not that requests are answered.
///
/// A connection that let a request meet its deadline and has answered none since that request was written is of no use. It
/// is in doubt from half of the deadline on: others are preferred, and another one is opened. The same holds for one that
/// does nothing but reset streams.
struct ConnectionHealth {
    enum Verdict: Equatable {
        case keep
        case retire
    }

    /// Resets in a row, without an answer, after which a connection is retired.
    private static let resetsInARow = 20

    /// Silence that says nothing yet, however short a request's deadline was.
    private let patience: Duration
    /// Whether requests were written after the last answer. With instants that are no optionals: it is set for each answer.
    private var isWaiting = false
    /// When the first of them was written.
    private var silentSince = ContinuousClock.Instant.now
    /// From when on the silence puts the connection in doubt.
    private var doubt = ContinuousClock.Instant.now
    private var resets = 0

    init(patience: Duration) { self.patience = patience }

    /// From when on it is in doubt, if it answers nothing until then.
    var doubtfulFrom: ContinuousClock.Instant? { isWaiting ? doubt : nil }

    func isInDoubt(now: ContinuousClock.Instant) -> Bool { isWaiting && now >= doubt }

    /// Requests were written that have to be answered by `deadline`.
    mutating func wrote(now: ContinuousClock.Instant, deadline: ContinuousClock.Instant) {
        let half = now + max(now.duration(to: deadline), patience) / 2
        guard isWaiting else {
            isWaiting = true
            silentSince = now
            doubt = half
            return
        }
        doubt = min(doubt, half)
    }

    /// A request was answered, whatever the answer.
    mutating func answered() {
        isWaiting = false
        resets = 0
    }

    /// The peer has reset a stream: it is awake.
    mutating func reset() -> Verdict {
        isWaiting = false
        resets += 1
        return resets >= Self.resetsInARow ? .retire : .keep
    }

    /// A request has met its deadline.
    func deadlinePassed(writtenAt: ContinuousClock.Instant, now: ContinuousClock.Instant) -> Verdict {
        guard isWaiting, writtenAt >= silentSince, now - silentSince >= patience else { return .keep }
        return .retire
    }
}
