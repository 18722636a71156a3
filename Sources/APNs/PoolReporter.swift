internal import EventLoop

/// Hands sentences for people on, each subject at most once in a while, for all loops of a pool together.
final class PoolReporter: Sendable {
    private let receive: (@Sendable (String) -> Void)?
    /// Few, since they name endpoints and reasons.
    private let lastSaid = ThreadLock<[String: ContinuousClock.Instant]>([:])

    init(_ receive: (@Sendable (String) -> Void)?) { self.receive = receive }

    /// - Parameters:
    ///   - sentence: What to say.
    ///   - subject: What it is about, where the sentence itself differs each time.
    ///   - interval: How long the subject is then left alone.
    ///   - now: The clock.
    /// - Returns: Whether it was time to.
    @discardableResult
    func say(
        _ sentence: String,
        about subject: String? = nil,
        every interval: Duration = .seconds(60),
        now: ContinuousClock.Instant = .now
    ) -> Bool {
        let isNew = lastSaid.withLock { lastSaid in
            if let last = lastSaid[subject ?? sentence], now - last < interval { return false }
            if lastSaid.count >= 100 { lastSaid = [:] }
            lastSaid[subject ?? sentence] = now
            return true
        }
        if isNew { receive?(sentence) }
        return isNew
    }
}
