/// When a push that failed for the moment is sent again.
package enum RetryRule {
    package enum Failure: Equatable, Sendable {
        /// 429, 500, 503; with APNs' `retry-after`, where it was sent.
        case later(after: Duration?)
        /// Deadline or lost connection: it may have arrived. The same `apns-id` goes again.
        case unknown
        /// It was never processed, and the pool's own budget of attempts is used up.
        case notProcessed

        /// APNs wants this phone, or channel, to wait longer than `pause`.
        package func asksForMore(than pause: Duration?) -> Bool {
            guard case .later(let after?) = self, let pause else { return false }
            return after > pause
        }
    }

    /// After 500 and 503 without `retry-after`; the last one doubles until ``cap(isUrgent:)``.
    private static let pauses: [Duration] = [.seconds(2), .seconds(5), .seconds(15), .seconds(30)]

    /// The longest wait, whatever APNs asks for: a day's `retry-after` must not cost a phone the match.
    package static func cap(isUrgent: Bool) -> Duration { isUrgent ? .seconds(120) : .seconds(15 * 60) }

    /// How often one token is tried, before it is given up until the next version: for seven minutes at least, whatever APNs
    /// asks for, since there may be no next version.
    package static let attempts = 40
    /// Who was asked to come soon comes less often, the longer that goes on.
    private static let patient = Duration.seconds(15)

    /// - Parameters:
    ///   - failure: How it ended.
    ///   - attempt: How often it has failed already, 1 the first time.
    ///   - isUrgent: Whether the push was a key event's or an end.
    ///   - jitter: From 0 to 1; up to a quarter more, so that what failed together does not come back together.
    /// - Returns: How long to wait: never less than APNs asked for within the cap, which is two minutes for keys, alerts and
    ///   ends, and a quarter of an hour for the rest.
    package static func delay(
        after failure: Failure,
        attempt: Int,
        isUrgent: Bool,
        jitter: Double = 0
    ) -> Duration {
        let delay = delay(after: failure, attempt: attempt, isUrgent: isUrgent)
        return min(delay + delay * (min(max(jitter, 0), 1) / 4), cap(isUrgent: isUrgent))
    }

    /// The same for the same text and attempt, else spread evenly from 0 to 1.
    package static func jitter(of text: String, attempt: Int) -> Double {
        // FNV-1a: Swift's own hashes differ from one process to the next.
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325 ^ UInt64(truncatingIfNeeded: attempt)
        for byte in text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        hash ^= hash >> 32
        return Double((hash &* 0x9e37_79b9_7f4a_7c15) >> 11) / Double(1 << 53 as UInt64)
    }

    private static func delay(after failure: Failure, attempt: Int, isUrgent: Bool) -> Duration {
        switch failure {
        case .later(.some(.zero)):
            // APNs shuts that server down; others take the push at once.
            return min(.milliseconds(50) * (1 << min(max(0, attempt - 1), 9)), patient)
        case .later(let after?):
            let growing = min(Duration.seconds(1) * (1 << min(max(0, attempt - 6), 4)), patient)
            return min(max(after, growing), cap(isUrgent: isUrgent))
        case .later(nil):
            let place = min(max(attempt, 1), pauses.count) - 1
            let doublings = min(max(0, attempt - pauses.count), 8)
            return min(pauses[place] * (1 << doublings), cap(isUrgent: isUrgent))
        case .unknown, .notProcessed:
            // A connection is lost more often than Apple is: soon again, but not in a tight loop.
            return min(.milliseconds(500) * (1 << min(max(0, attempt - 1), 6)), .seconds(30))
        }
    }
}
