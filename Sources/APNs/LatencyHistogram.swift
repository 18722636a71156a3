internal import Synchronization

/// Counts of durations in buckets of bounded relative error: 1/128 at most, from a microsecond to an hour.
///
/// One thread writes, any may read: the buckets are relaxed atomics.
package final class LatencyHistogram: Sendable {
    private static let linear = 256  // up to 256 µs exactly; then 128 buckets for every doubling
    private static let perDoubling = 128
    private static let doublings = 24
    private let buckets: [Counter]
    private let longest = Counter()

    package init() {
        buckets = (0..<Self.linear + Self.doublings * Self.perDoubling).map { _ in Counter() }
    }

    /// Counts one duration; longer ones than the last bucket holds count there.
    package func record(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        let microseconds = max(0, Int(seconds) * 1_000_000 + Int(attoseconds / 1_000_000_000_000))
        buckets[Self.bucket(of: microseconds)].add(1)
        if microseconds > longest.value { longest.set(microseconds) }
    }

    package var count: Int { buckets.reduce(0) { $0 + $1.value } }

    /// In microseconds, exactly.
    package var maximum: Int { longest.value }

    /// The upper bound, in microseconds, of the bucket that holds the given share of all counts; 0 without any.
    package static func quantile(_ share: Double, of histograms: [LatencyHistogram]) -> Int {
        let total = histograms.reduce(0) { $0 + $1.count }
        guard total > 0 else { return 0 }
        let rank = max(1, Int((Double(total) * share).rounded(.up)))
        let most = histograms.map(\.maximum).max() ?? 0
        var seen = 0
        for bucket in 0..<linear + doublings * perDoubling {
            seen += histograms.reduce(0) { $0 + $1.buckets[bucket].value }
            if seen >= rank { return min(upperBound(of: bucket), most) }
        }
        return most
    }

    /// How many durations are longer, to the bucket's accuracy.
    package static func count(above microseconds: Int, of histograms: [LatencyHistogram]) -> Int {
        let first = bucket(of: max(0, microseconds)) + 1
        return histograms.reduce(0) { sum, histogram in
            sum + histogram.buckets[first...].reduce(0) { $0 + $1.value }
        }
    }

    static func bucket(of microseconds: Int) -> Int {
        guard microseconds >= linear else { return microseconds }
        // 2^8 has its first bit at place 8: there the first doubling begins.
        let exponent = Int.bitWidth - 1 - microseconds.leadingZeroBitCount
        let step = exponent - 7
        let bucket = linear + (exponent - 8) * perDoubling + (microseconds >> step) - perDoubling
        return min(bucket, linear + doublings * perDoubling - 1)
    }

    static func upperBound(of bucket: Int) -> Int {
        guard bucket >= linear else { return bucket }
        let (doubling, place) = (bucket - linear).quotientAndRemainder(dividingBy: perDoubling)
        return (place + perDoubling + 1) << (doubling + 1) - 1
    }
}

/// A counter that one thread writes and any may read.
package final class Counter: Sendable {
    private let storage = Atomic<Int>(0)

    package init() {}

    package var value: Int { storage.load(ordering: .relaxed) }

    /// Not a read-modify-write: there is one writer.
    package func add(_ amount: Int) { storage.store(value &+ amount, ordering: .relaxed) }

    package func set(_ value: Int) { storage.store(value, ordering: .relaxed) }
}
