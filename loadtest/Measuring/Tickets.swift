import Synchronization

/// Hands out the numbers of pushes until there have been enough, or until the time is over.
final class Tickets: Sendable {
    private let next = Atomic<Int>(0)
    private let limit: Int
    private let end: ContinuousClock.Instant?

    /// - Parameters:
    ///   - limit: How many there are; nil: as many as the time brings.
    ///   - end: When no more are handed out.
    init(limit: Int?, end: ContinuousClock.Instant?) {
        self.limit = limit ?? .max
        self.end = end
    }

    /// The numbers that are now the caller's, `count` of them or the rest; none at the end.
    func take(_ count: Int) -> Range<Int> {
        if let end, ContinuousClock.now >= end { return 0..<0 }
        let first = next.wrappingAdd(count, ordering: .relaxed).oldValue
        return first < limit ? first..<min(first + count, limit) : 0..<0
    }
}
