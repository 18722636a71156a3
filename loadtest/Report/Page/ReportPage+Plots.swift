/// The plots of a report's page.
extension ReportPage {
    /// The latency by the share of all that were faster.
    var latencies: String {
        let all = [("all", report.latency_us)] + report.parts.map { ($0.name, $0.latency_us) }
        let curves = all.filter { !$0.1.curve.isEmpty }
        guard let first = curves.first else { return "" }
        let shown = curves.prefix(2)
        let values = shown.flatMap { $0.1.curve.map(\.us) }
        let most = max(shown.map(\.1.max).max() ?? 1, 1)
        // As many nines as there are pushes for.
        let nines = report.pushes >= 100_000 ? 5 : report.pushes >= 10_000 ? 4 : report.pushes >= 1000 ? 3 : 2
        let figures = first.1
        let plot = Plot(
            summary: "Latency by percentile: median \(Self.text(figures.p50)), 99 % within \(Self.text(figures.p99)), "
                + "longest \(Self.text(figures.max)).",
            x: .shares(nines: nines),
            y: .logarithmic(from: Double(max(1, values.min() ?? 1)), to: Double(most)) { Self.short($0) },
            lines: shown.enumerated().map { index, curve in
                Plot.Line(
                    name: curve.0,
                    style: index == 0 ? "one" : "two",
                    points: curve.1.curve.filter { $0.share <= 1 - Self.power(nines) * 0.999 }
                        .map { (x: $0.share, y: Double(max(1, $0.us))) },
                    isFilled: index == 0
                )
            },
            marks: [(0.5, figures.p50), (0.9, figures.p90), (0.99, figures.p99), (0.999, figures.p999)]
                .filter { $0.0 < 1 - Self.power(nines) }
                .map { Plot.Mark(x: $0.0, y: Double(max(1, $0.1)), text: Self.text($0.1)) }
        )
        return figure(
            "Latency",
            "From the moment at which a push was due to its outcome; each step to the right is ten times rarer.",
            plot,
            legend: shown.count > 1 ? shown.map(\.0) : [],
            table: quantileTable(curves)
        )
    }

    /// For an axis: `50 ms`.
    private static func short(_ us: Double) -> String {
        us < 1000 ? us.shortest + " µs" : us < 1e6 ? (us / 1e3).shortest + " ms" : (us / 1e6).shortest + " s"
    }

    /// 10 to the power of minus `nines`.
    private static func power(_ nines: Int) -> Double { (0..<nines).reduce(1.0) { value, _ in value / 10 } }

    private func quantileTable(_ curves: [(String, LatencyFigures)]) -> String {
        let rows = curves.map { name, latency in
            "<tr><th>\(name.escaped)</th>"
                + [latency.p50, latency.p90, latency.p99, latency.p999, latency.max]
                .map { #"<td class="number">\#(Self.text($0))</td>"# }.joined() + "</tr>"
        }
        let heads = ["p50", "p90", "p99", "p99.9", "max"].map { #"<th class="number">\#($0)</th>"# }.joined()
        return #"<div class="scroll"><table><tr><th></th>\#(heads)</tr>\#(rows.joined())</table></div>"#
    }

    /// Throughput, pushes in flight and memory while the run went on.
    var overTime: String {
        let samples = report.samples
        guard samples.count > 2, let end = samples.last?.at else { return "" }
        let time = Axis.time(to: end)
        let rates = Plot(
            summary:
                "Throughput over \(end.text(0)) seconds, \(Int(report.pushes_per_second).grouped) a second on average.",
            x: time,
            y: .linear(to: samples.map(\.per_second).max() ?? 1) { $0.scaled },
            lines: [
                Plot.Line(
                    name: "a second",
                    style: "one",
                    points: samples.map { ($0.at, $0.per_second) },
                    isFilled: true
                )
            ]
        )
        let inHand = samples.map { Double($0.in_flight + $0.waiting) }
        let flights = Plot(
            summary: "Pushes in flight and waiting over time, \(Int(inHand.max() ?? 0).grouped) at most.",
            x: time,
            y: .linear(to: inHand.max() ?? 1) { $0.scaled },
            lines: [
                Plot.Line(
                    name: "in flight",
                    style: "one",
                    points: samples.map { ($0.at, Double($0.in_flight)) },
                    isFilled: true
                ),
                Plot.Line(name: "with those that wait", style: "two", points: zip(samples, inHand).map { ($0.at, $1) }),
            ]
        )
        let memory = Plot(
            summary: "Resident memory over time, \(Self.bytes(report.peak_rss_bytes)) at most.",
            x: time,
            y: .linear(to: (samples.map(\.rss_bytes).max().map(Double.init) ?? 1) / 1_048_576) { $0.shortest + " M" },
            lines: [
                Plot.Line(
                    name: "MiB",
                    style: "two",
                    points: samples.map { ($0.at, Double($0.rss_bytes) / 1_048_576) },
                    isFilled: true
                )
            ]
        )
        return figure("Throughput over time", "Outcomes a second.", rates)
            + figure(
                "In flight over time",
                "Handed to a connection and not yet answered; and those that still wait for a stream.",
                flights,
                legend: flights.lines.map(\.name)
            )
            + figure("Memory over time", "Resident in the process that sends, in MiB.", memory)
    }

    private func figure(
        _ title: String,
        _ caption: String,
        _ plot: Plot,
        legend: [String] = [],
        table: String = ""
    ) -> String {
        let names = zip(legend, ["one", "two"]).map { #"<span class="\#($1)">\#($0.escaped)</span>"# }.joined()
        return """
            <figure><h2>\(title)</h2><figcaption>\(caption)</figcaption>
            \(legend.isEmpty ? "" : #"<div class="legend">\#(names)</div>"#)
            \(plot.svg)\(table)</figure>

            """
    }
}
