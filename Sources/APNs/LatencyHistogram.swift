/// Counts of durations in buckets of bounded relative error: 1/128 at most, from a microsecond to an hour.
///
/// One thread writes, any may read: the buckets are relaxed atomics.
package final class LatencyHistogram: Sendable {
    private static let linear = 256  // up to 256 µs exactly; then 128 buckets for every doubling
    private static let perDoubling = 128
    private static let doublings = 24
    private let buckets: [Counter]
    private let longest = Counter()
    private let total = Counter()

    package init() {
        buckets = (0..<Self.linear + Self.doublings * Self.perDoubling).map { _ in Counter() }
    }

    /// Counts a duration, `times` times; longer ones than the last bucket holds count there.
    package func record(_ duration: Duration, times: Int = 1) {
        let (seconds, attoseconds) = duration.components
        let microseconds = max(0, Int(seconds) * 1_000_000 + Int(attoseconds / 1_000_000_000_000))
        buckets[Self.bucket(of: microseconds)].add(times)
        total.add(microseconds * times)
        if microseconds > longest.value { longest.set(microseconds) }
    }

    /// Of all durations, in microseconds.
    package var sum: Int { total.value }

    /// How many durations were at most so long, for each of some bounds, to within a hundredth of the bound.
    ///
    /// - Parameters:
    ///   - bounds: In microseconds, rising.
    ///   - histograms: Counted together.
    /// - Returns: One number for each bound, rising as well.
    package static func counts(upTo bounds: [Int], of histograms: [LatencyHistogram]) -> [Int] {
        var counts: [Int] = []
        var bucket = 0
        var seen = 0
        for bound in bounds {
            while bucket < linear + doublings * perDoubling, upperBound(of: bucket) <= bound {
                seen += histograms.reduce(0) { $0 + $1.buckets[bucket].value }
                bucket += 1
            }
            counts.append(seen)
        }
        return counts
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
