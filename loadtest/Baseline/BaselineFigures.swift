/// Another load generator beside us, in turn against the same listener.
struct BaselineFigures: Codable, Sendable {
    /// One run of one of them, as a process: both are measured alike, from their start to their end.
    struct Side: Codable, Sendable {
        var cpu_us_per_push: Double
        var pushes_per_second: Double
        var seconds: Double
        var peak_rss_bytes: Int
        /// How busy the listener was meanwhile, of a core.
        var sink_busy: Double
        /// Microseconds; the other's only where it writes them down.
        var p50_us: Int?
        var p99_us: Int?
    }

    struct Round: Codable, Sendable {
        var ours: Side
        var theirs: Side
    }

    /// The least and the greatest of the rounds' ratios.
    struct Spread: Codable, Sendable {
        var least: Double
        var greatest: Double
    }

    var tool: String
    var version: String
    var command: String
    /// Ours divided by the other's, medians: below 1 is less.
    var cpu_ratio: Double
    /// Ours divided by the other's, medians: above 1 is more.
    var throughput_ratio: Double
    var cpu_ratio_spread: Spread
    var throughput_ratio_spread: Spread
    var ours: Side
    var theirs: Side
    var rounds: [Round]
    /// What is not the same on both sides.
    var notes: [String]

    init(tool: String, version: String, command: String, rounds: [Round], notes: [String]) {
        precondition(!rounds.isEmpty, "a baseline without a round")
        self.tool = tool
        self.version = version
        self.command = command
        self.rounds = rounds
        self.notes = notes
        ours = Self.medians(rounds.map(\.ours))
        theirs = Self.medians(rounds.map(\.theirs))
        cpu_ratio = ours.cpu_us_per_push / theirs.cpu_us_per_push
        throughput_ratio = ours.pushes_per_second / theirs.pushes_per_second
        cpu_ratio_spread = Self.spread(rounds.map { $0.ours.cpu_us_per_push / $0.theirs.cpu_us_per_push })
        throughput_ratio_spread = Self.spread(rounds.map { $0.ours.pushes_per_second / $0.theirs.pushes_per_second })
    }

    private static func medians(_ sides: [Side]) -> Side {
        Side(
            cpu_us_per_push: median(sides.map(\.cpu_us_per_push)),
            pushes_per_second: median(sides.map(\.pushes_per_second)),
            seconds: median(sides.map(\.seconds)),
            peak_rss_bytes: Int(median(sides.map { Double($0.peak_rss_bytes) })),
            sink_busy: median(sides.map(\.sink_busy)),
            p50_us: sides[0].p50_us.map { _ in Int(median(sides.compactMap { $0.p50_us.map(Double.init) })) },
            p99_us: sides[0].p99_us.map { _ in Int(median(sides.compactMap { $0.p99_us.map(Double.init) })) }
        )
    }

    private static func spread(_ ratios: [Double]) -> Spread {
        Spread(least: ratios.min() ?? 0, greatest: ratios.max() ?? 0)
    }

    /// Of an even number the mean of the two in the middle.
    static func median(_ values: [Double]) -> Double {
        let sorted = values.sorted()
        guard !sorted.isEmpty else { return 0 }
        let middle = sorted.count / 2
        return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
    }
}
