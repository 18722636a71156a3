internal import Synchronization

/// Counts of durations in buckets of bounded relative error: 1/128 at most, from a microsecond to an hour.
///
/// One thread writes, any may read: the buckets are relaxed atomics.
package final class LatencyHistogram: @unchecked Sendable {  // for the pointer, which is set once
    private static let linear = 256  // up to 256 µs exactly; then 128 buckets for every doubling
    private static let perDoubling = 128
    private static let doublings = 24
    private static let size = linear + doublings * perDoubling
    /// In one piece of memory: an object each would be a miss of the cache for every push.
    private let buckets: UnsafeMutablePointer<Atomic<Int>>
    private let longest = Counter()
    private let total = Counter()

    package init() {
        buckets = .allocate(capacity: Self.size)
        for bucket in 0..<Self.size { (buckets + bucket).initialize(to: Atomic(0)) }
    }

    deinit {
        buckets.deinitialize(count: Self.size)
        buckets.deallocate()
    }

    private func count(in bucket: Int) -> Int { buckets[bucket].load(ordering: .relaxed) }

    /// Counts a duration, `times` times; longer ones than the last bucket holds count there.
    package func record(_ duration: Duration, times: Int = 1) {
        let microseconds = duration.microseconds
        let bucket = Self.bucket(of: microseconds)
        // Not a read-modify-write: there is one writer.
        buckets[bucket].store(count(in: bucket) &+ times, ordering: .relaxed)
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
            while bucket < size, upperBound(of: bucket) <= bound {
                seen += histograms.reduce(0) { $0 + $1.count(in: bucket) }
                bucket += 1
            }
            counts.append(seen)
        }
        return counts
    }

    package var count: Int { (0..<Self.size).reduce(0) { $0 + count(in: $1) } }

    /// In microseconds, exactly.
    package var maximum: Int { longest.value }

    /// The upper bound, in microseconds, of the bucket that holds the given share of all counts; 0 without any.
    package static func quantile(_ share: Double, of histograms: [LatencyHistogram]) -> Int {
        let total = histograms.reduce(0) { $0 + $1.count }
        guard total > 0 else { return 0 }
        let rank = max(1, Int((Double(total) * share).rounded(.up)))
        let most = histograms.map(\.maximum).max() ?? 0
        var seen = 0
        for bucket in 0..<size {
            seen += histograms.reduce(0) { $0 + $1.count(in: bucket) }
            if seen >= rank { return min(upperBound(of: bucket), most) }
        }
        return most
    }

    /// How many durations are longer, to the bucket's accuracy.
    package static func count(above microseconds: Int, of histograms: [LatencyHistogram]) -> Int {
        let first = bucket(of: max(0, microseconds)) + 1
        return histograms.reduce(0) { sum, histogram in
            sum + (first..<size).reduce(0) { $0 + histogram.count(in: $1) }
        }
    }

    static func bucket(of microseconds: Int) -> Int {
        guard microseconds >= linear else { return microseconds }
        // 2^8 has its first bit at place 8: there the first doubling begins.
        let exponent = Int.bitWidth - 1 - microseconds.leadingZeroBitCount
        let step = exponent - 7
        let bucket = linear + (exponent - 8) * perDoubling + (microseconds >> step) - perDoubling
        return min(bucket, size - 1)
    }

    static func upperBound(of bucket: Int) -> Int {
        guard bucket >= linear else { return bucket }
        let (doubling, place) = (bucket - linear).quotientAndRemainder(dividingBy: perDoubling)
        return (place + perDoubling + 1) << (doubling + 1) - 1
    }
}

extension Duration {
    /// Whole microseconds, rounded down; 0 for what is negative.
    fileprivate var microseconds: Int {
        // Below 9 seconds the division has 64 bits, a tenth of what 128 take.
        if let short = Int(exactly: attoseconds) { return max(0, short) / 1_000_000_000_000 }
        let (seconds, rest) = components
        return max(0, Int(seconds) * 1_000_000 + Int(rest / 1_000_000_000_000))
    }
}
