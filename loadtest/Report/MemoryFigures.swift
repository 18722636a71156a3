/// Whether memory grows while a run goes on.
struct MemoryFigures: Codable, Sendable {
    /// Mean resident bytes of the second and of the last tenth of the looks.
    var second_tenth_bytes: Int
    var last_tenth_bytes: Int
    /// The last divided by the second: 1 is flat.
    var ratio: Double

    /// Nil for a run too short to have tenths.
    init?(_ samples: [RunMeter.Sample]) {
        let tenth = samples.count / 10
        guard tenth > 0 else { return nil }
        func mean(_ part: ArraySlice<RunMeter.Sample>) -> Int { part.reduce(0) { $0 + $1.rss_bytes } / part.count }
        second_tenth_bytes = mean(samples[tenth..<2 * tenth])
        last_tenth_bytes = mean(samples.suffix(tenth))
        ratio = Double(last_tenth_bytes) / Double(max(1, second_tenth_bytes))
    }
}
