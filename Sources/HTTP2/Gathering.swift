/// Decides when a turn's output leaves: at once, or a moment later together with what follows.
///
/// A system call, a TLS record and the peer's waking cost more than ten requests do. So where requests come in a stream
/// that is too thin to fill records by itself, output waits until ``tick`` after what left before it. Nothing waits on a
/// connection that has had few requests of late, a lone one above all; nor where so many come that turns gather by
/// themselves. The owner lets full records and what is urgent pass.
struct Gathering {
    enum Decision: Equatable {
        case now
        case at(ContinuousClock.Instant)
    }

    /// So many requests within a tick are a stream.
    static let fewest = 8
    /// So many fill four records, and are gathered by turns.
    static let most = 128

    private let tick: Duration
    private var lastLeft: ContinuousClock.Instant?
    private var windowStart: ContinuousClock.Instant?
    private var inWindow = 0
    private var inWindowBefore = 0

    /// - Parameter tick: The longest wait; zero for none.
    init(tick: Duration) { self.tick = tick }

    /// A request was submitted; its output is asked about at the end of the turn.
    mutating func submitted() { inWindow += 1 }

    /// When the output that there is should leave.
    mutating func decide(now: ContinuousClock.Instant) -> Decision {
        guard tick > .zero else { return .now }
        let requests = max(inWindow, inWindowBefore)
        roll(now: now)
        guard let lastLeft, Self.fewest..<Self.most ~= requests, now < lastLeft + tick else {
            lastLeft = now
            return .now
        }
        return .at(lastLeft + tick)
    }

    /// Everything has left, whatever was decided.
    mutating func left(now: ContinuousClock.Instant) { lastLeft = now }

    private mutating func roll(now: ContinuousClock.Instant) {
        guard let start = windowStart, now < start + tick else {
            let isNext = windowStart.map { now < $0 + tick + tick } ?? false
            inWindowBefore = isNext ? inWindow : 0
            inWindow = 0
            windowStart = now
            return
        }
    }
}
