import APNs
import FoundationEssentials

/// The figures of one run of `loadtest pool`, and whether its sums are right.
struct PoolReport {
    let options: PoolOptions
    let outcomes: OutcomeCounts
    let counts: PoolCounts
    var latencies: [LatencyHistogram] = []
    var elapsed: Duration = .zero
    var cpu: Duration = .zero
    var sinkCPU: Duration?
    var peakBytes = 0
    /// What the simulator counted; `nil` with another listener.
    var requestsSeen: Int?
    /// Pushes whose id the simulator accepted twice; `nil` where it did not look.
    var doubledIDs: Int?

    init(options: PoolOptions, outcomes: OutcomeCounts, counts: PoolCounts) {
        self.options = options
        self.outcomes = outcomes
        self.counts = counts
    }

    // MARK: - Sums

    /// Pushes without an outcome, and pushes called accepted that the simulator has not seen.
    var lost: Int {
        let unanswered = options.pushes - outcomes.total
        guard let requestsSeen else { return unanswered }
        return unanswered + max(0, outcomes.accepted - requestsSeen)
    }

    /// By id where the simulator reads them; the light sink's surplus of requests otherwise. A push whose outcome was
    /// unknown may have arrived, once.
    var doubled: Int {
        if let doubledIDs { return doubledIDs }
        guard let requestsSeen else { return 0 }
        return max(0, requestsSeen - outcomes.total - (options.faultsFile == nil ? 0 : counts.resent))
    }

    /// A run in which nothing was accepted has measured nothing.
    var isSound: Bool { lost == 0 && doubled == 0 && outcomes.accepted > 0 }

    var complaint: String {
        outcomes.accepted == 0 ? "no push was accepted" : "\(lost) pushes lost, \(doubled) doubled"
    }

    // MARK: - Figures

    private var pushesPerSecond: Double { Double(options.pushes) / elapsed.seconds }
    private var cpuMicroseconds: Double { cpu.seconds * 1e6 / Double(options.pushes) }
    private var sinkMicroseconds: Double? { sinkCPU.map { $0.seconds * 1e6 / Double(options.pushes) } }
    private var sinkBusy: Double? { sinkCPU.map { $0.seconds / elapsed.seconds } }
    private var ownBusy: Double { cpu.seconds / elapsed.seconds }
    private var isSinkBound: Bool { sinkBusy.map { $0 > ownBusy && $0 > 0.9 } ?? false }

    private static let quantiles: [(name: String, share: Double)] = [
        ("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p999", 0.999),
    ]

    private var longest: Int { latencies.map(\.maximum).max() ?? 0 }

    var table: String {
        var lines = [
            row("pushes", "\(options.pushes)"),
            row("outcomes", "\(outcomes.accepted) accepted" + others),
            row("lost, doubled", "\(lost), \(doubled)" + (requestsSeen.map { " (\($0) requests seen)" } ?? "")),
            row("connections", "\(counts.connectionsOpened) opened, \(counts.resent) pushes sent again"),
            row("seconds", format(elapsed.seconds, 2)),
            row("pushes/s", format(pushesPerSecond, 0) + (isSinkBound ? "  (bound by the sink)" : "")),
            row("CPU a push", format(cpuMicroseconds, 2) + " µs, \(format(ownBusy * 100, 0)) % of a core"),
        ]
        if let sinkMicroseconds, let sinkBusy {
            lines.append(
                row("sink's CPU", format(sinkMicroseconds, 2) + " µs, \(format(sinkBusy * 100, 0)) % of a core")
            )
        }
        let latency = Self.quantiles.map { quantile in
            "\(quantile.name) \(format(Double(LatencyHistogram.quantile(quantile.share, of: latencies)) / 1000, 1))"
        }
        lines.append(row("latency, ms", latency.joined(separator: "  ") + "  max \(format(Double(longest) / 1000, 1))"))
        lines.append(row("peak memory", format(Double(peakBytes) / 1_048_576, 1) + " MiB"))
        return lines.joined(separator: "\n") + "\n"
    }

    private var others: String {
        outcomes.others.sorted { $0.key < $1.key }.reduce("") { $0 + ", \($1.value) \($1.key)" }
    }

    private func row(_ name: String, _ value: String) -> String {
        name + String(repeating: " ", count: max(1, 16 - name.count)) + value
    }

    private func format(_ value: Double, _ places: Int) -> String {
        value.formatted(places)
    }

    // MARK: - JSON

    func write(to file: String) throws(RunFailure) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        guard let text = try? encoder.encode(figures) else {
            throw RunFailure(message: "the figures cannot be written")
        }
        if file == "-" { return print(String(decoding: text, as: UTF8.self)) }
        do { try (text + Data("\n".utf8)).write(to: URL(fileURLWithPath: file)) } catch {
            throw RunFailure(message: "cannot write \(file)")
        }
    }

    private var figures: Figures {
        Figures(
            test: "pool",
            pushes: options.pushes,
            accepted: outcomes.accepted,
            lost: lost,
            doubled: doubled,
            reordered: 0,
            outcomes: outcomes.others.merging(["accepted": outcomes.accepted]) { $1 },
            seconds: elapsed.seconds,
            pushes_per_second: pushesPerSecond,
            cpu_us_per_push: cpuMicroseconds,
            peak_rss_bytes: peakBytes,
            latency_us: Dictionary(
                uniqueKeysWithValues: Self.quantiles.map { quantile in
                    (quantile.name, LatencyHistogram.quantile(quantile.share, of: latencies))
                } + [("max", longest)]
            ),
            sink: Figures.Sink(
                cpu_us_per_push: sinkMicroseconds,
                busy: sinkBusy,
                is_bound: isSinkBound,
                requests: requestsSeen
            ),
            connections: counts.connectionsOpened,
            resent: counts.resent,
            settings: Figures.Settings(
                connections: options.connections,
                streams: options.streams,
                payload_bytes: options.payloadBytes,
                batch: options.batch,
                loops: options.loops,
                rtt_ms: options.roundTripMilliseconds
            )
        )
    }

    /// What `--json` writes.
    private struct Figures: Encodable {
        struct Sink: Encodable {
            let cpu_us_per_push: Double?
            let busy: Double?
            let is_bound: Bool
            let requests: Int?
        }

        struct Settings: Encodable {
            let connections: Int
            let streams: Int
            let payload_bytes: Int
            let batch: Int
            let loops: Int
            let rtt_ms: Int
        }

        let test: String
        let pushes: Int
        let accepted: Int
        let lost: Int
        let doubled: Int
        /// A token's next push is sent only after its last has ended.
        let reordered: Int
        let outcomes: [String: Int]
        let seconds: Double
        let pushes_per_second: Double
        let cpu_us_per_push: Double
        let peak_rss_bytes: Int
        let latency_us: [String: Int]
        let sink: Sink
        let connections: Int
        let resent: Int
        let settings: Settings
    }
}

extension Double {
    /// With a fixed number of places, a dot, and no separators.
    fileprivate func formatted(_ places: Int) -> String {
        let scale = (0..<places).reduce(1.0) { value, _ in value * 10 }
        let rounded = Int((self * scale).rounded())
        guard places > 0 else { return String(rounded) }
        let digits = String(abs(rounded))
        let padded = String(repeating: "0", count: max(0, places + 1 - digits.count)) + digits
        return (rounded < 0 ? "-" : "") + padded.dropLast(places) + "." + padded.suffix(places)
    }
}
