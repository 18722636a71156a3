/// A report as a table for a terminal, within 80 columns.
struct ReportTable {
    let report: Report

    var text: String {
        if let chaos = report.chaos { return ChaosTable(report: report, chaos: chaos).text }
        if let season = report.season { return SeasonTable(report: report, season: season).text }
        if let starts = report.starts { return StartsTable(report: report, starts: starts).text }
        var lines = [
            row("pushes", report.pushes.grouped),
            row("outcomes", outcomes),
            row("lost", sums),
            row("connections", "\(report.connections) opened, \(report.resent.grouped) pushes sent again"),
            row("seconds", report.seconds.text(2)),
            row("pushes/s", Int(report.pushes_per_second.rounded()).grouped + bound),
            row("CPU a push", report.cpu_us_per_push.text(2) + " µs, \(percent(report.busy)) of a core"),
        ]
        if let cost = report.sink.cpu_us_per_push, let busy = report.sink.busy {
            lines.append(row("sink's CPU", cost.text(2) + " µs, \(percent(busy)) of a core"))
        }
        lines.append(row("latency, ms", latency(report.latency_us)))
        for part in report.parts {
            lines.append(row("  " + part.name, part.count.grouped + rate(part)))
            lines.append(row("", latency(part.latency_us)))
        }
        lines.append(row("peak memory", (Double(report.peak_rss_bytes) / 1_048_576).text(1) + " MiB"))
        if let memory = report.memory {
            lines[lines.count - 1] += ", last tenth / second tenth \(memory.ratio.text(3))"
        }
        if let descriptors = report.descriptors, descriptors.before != descriptors.after {
            lines.append(row("descriptors", "\(descriptors.before) before, \(descriptors.after) after"))
        }
        if let baseline = report.baseline { lines += rows(baseline) }
        for line in report.sums where !line.isRight {
            lines.append(row("wrong sum", "\(line.what): \(line.ours.grouped), the sink says \(line.theirs ?? 0)"))
        }
        if !report.machine.is_release { lines.append("This is a debug build: its figures mean nothing.") }
        return lines.joined(separator: "\n") + "\n"
    }

    private var bound: String { report.sink.is_bound ? "  (bound by the sink)" : "" }

    private var outcomes: String {
        let others = report.outcomes.filter { $0.key != "accepted" }.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
        return (["\(report.accepted.grouped) accepted"] + others.map { "\($0.value.grouped) \($0.key)" })
            .joined(separator: ", ")
    }

    private var sums: String {
        "\(report.lost), \(report.doubled) doubled, \(report.reordered) reordered, \(report.late.grouped) late"
            + (report.sink.requests.map { " (\($0.grouped) requests seen)" } ?? "")
    }

    private func rows(_ baseline: BaselineFigures) -> [String] {
        func side(_ name: String, _ side: BaselineFigures.Side) -> String {
            row(
                "  " + name,
                "\(side.cpu_us_per_push.text(2)) µs CPU a push, \(Int(side.pushes_per_second).grouped)/s, "
                    + "listener \(percent(side.sink_busy)) busy"
            )
        }
        func ratio(_ name: String, _ ratio: Double, _ spread: BaselineFigures.Spread) -> String {
            row("  " + name, "\(ratio.text(3)) of h2load's (\(spread.least.text(3)) to \(spread.greatest.text(3)))")
        }
        return [
            row("baseline", "\(baseline.version), medians of \(baseline.rounds.count) rounds in turn"),
            side("ours", baseline.ours), side(baseline.tool, baseline.theirs),
            ratio("CPU a push", baseline.cpu_ratio, baseline.cpu_ratio_spread),
            ratio("pushes/s", baseline.throughput_ratio, baseline.throughput_ratio_spread),
            row("", "h2load's apns-id is constant; its paths are distinct"),
        ]
    }

    private func rate(_ part: Report.Part) -> String {
        part.per_second.map { ", \(Int($0.rounded()).grouped)/s" } ?? ""
    }

    private func latency(_ figures: LatencyFigures) -> String {
        let values = [
            ("p50", figures.p50), ("p90", figures.p90), ("p99", figures.p99), ("p99.9", figures.p999),
            ("max", figures.max),
        ]
        return values.map { "\($0.0) \(milliseconds($0.1))" }.joined(separator: "  ")
    }

    private func milliseconds(_ us: Int) -> String {
        let value = Double(us) / 1000
        return value.text(value < 10 ? 2 : value < 1000 ? 1 : 0)
    }

    private func percent(_ share: Double) -> String { (share * 100).text(0) + " %" }

    private func row(_ name: String, _ value: String) -> String {
        name + String(repeating: " ", count: max(1, 15 - name.count)) + value
    }
}
