internal import APNs

/// Lines as Prometheus reads them. Source: Prometheus, "Exposition formats", text format 0.0.4.
enum MetricsText {
    /// Buckets of the histograms, in seconds: from a push on the local network to what waits for a deadline.
    static let buckets = [
        "0.001", "0.0025", "0.005", "0.01", "0.025", "0.05", "0.1", "0.25", "0.5", "1", "2.5", "5", "10", "30", "60",
    ]

    private static let bucketMicroseconds = buckets.map { Int((Double($0) ?? 0) * 1_000_000) }

    static func head(_ name: String, _ type: String, _ help: String) -> [String] {
        ["# HELP \(name) \(help)", "# TYPE \(name) \(type)"]
    }

    static func family(
        _ name: String,
        _ type: String,
        _ help: String,
        _ label: String,
        _ values: [(String, Int)]
    ) -> [String] {
        head(name, type, help) + values.map { "\(name){\(label)=\"\($0.0)\"} \($0.1)" }
    }

    static func histogram(_ name: String, _ label: String, _ histograms: [LatencyHistogram]) -> [String] {
        let counts = LatencyHistogram.counts(upTo: bucketMicroseconds, of: histograms)
        // Read after the buckets, and so not below them.
        let total = histograms.reduce(0) { $0 + $1.count }
        let sum = histograms.reduce(0) { $0 + $1.sum }
        let comma = label.isEmpty ? "" : ","
        let braces = label.isEmpty ? "" : "{\(label)}"
        return zip(buckets, counts).map { "\(name)_bucket{\(label)\(comma)le=\"\($0)\"} \($1)" } + [
            "\(name)_bucket{\(label)\(comma)le=\"+Inf\"} \(total)",
            "\(name)_sum\(braces) \(Double(sum) / 1_000_000)",
            "\(name)_count\(braces) \(total)",
        ]
    }
}
