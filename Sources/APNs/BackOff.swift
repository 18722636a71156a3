/// How long to wait before the next attempt: doubling, with jitter, so that many processes do not come back at once.
struct BackOff: Sendable {
    private let first: Duration
    private let most: Duration
    private(set) var failures = 0

    init(first: Duration, most: Duration) {
        self.first = first
        self.most = most
    }

    /// Counts a failure.
    ///
    /// - Parameter random: Uniform in 0 ..< 1.
    /// - Returns: Between half of the doubled time and all of it.
    mutating func failed(random: Double) -> Duration {
        let doubled = first * (1 << min(failures, 20))
        failures += 1
        return min(doubled, most) * (0.5 + random / 2)
    }

    mutating func succeeded() { failures = 0 }
}
