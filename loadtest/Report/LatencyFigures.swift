import APNs

/// Latencies in microseconds: what people quote, and the curve behind it.
struct LatencyFigures: Codable, Equatable, Sendable {
    struct Point: Codable, Equatable, Sendable {
        /// 0 to 1.
        var share: Double
        var us: Int
    }

    var p50 = 0
    var p90 = 0
    var p99 = 0
    var p999 = 0
    var max = 0
    /// From the fastest to the slowest, closer together towards the end.
    var curve: [Point] = []

    init() {}

    /// Read from histograms, of which each bucket is within 1 % of what it stands for.
    init(_ histograms: [LatencyHistogram]) {
        guard histograms.contains(where: { $0.count > 0 }) else { return }
        func quantile(_ share: Double) -> Int { LatencyHistogram.quantile(share, of: histograms) }
        p50 = quantile(0.5)
        p90 = quantile(0.9)
        p99 = quantile(0.99)
        p999 = quantile(0.999)
        max = histograms.map(\.maximum).max() ?? 0
        curve = Self.shares.map { Point(share: $0, us: quantile($0)) }
    }

    /// Equal steps on the axis of the plot: 1 − 10^(−x).
    private static let shares: [Double] = (0...50).map { step in
        step == 0 ? 0 : 1 - Self.power(Double(step) / 10)
    }

    private static func power(_ tens: Double) -> Double {
        // 10^(−tens): without the mathematical library's name for it.
        var value = 1.0
        for _ in 0..<Int((tens * 10).rounded()) { value *= 0.794_328_234_724_281_5 }
        return value
    }
}
