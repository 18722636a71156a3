internal import Store
internal import EventLoop

/// Whether the counts of all versions add up, as the housekeeper has last found it.
final class Books: Sendable {
    private let found = ThreadLock<Int?>(nil)

    /// Versions that were off; nil: not looked at yet.
    var off: Int? { found.withLock { $0 } }

    /// Looks at all of them.
    ///
    /// - Returns: Those that are off, at most ten, each in a sentence.
    func check(_ store: Store, by deadline: ContinuousClock.Instant) async throws(StoreError) -> [String] {
        let off = try await store.sumsOff(limit: 10, by: deadline)
        found.withLock { $0 = off.count }
        return off
    }
}
