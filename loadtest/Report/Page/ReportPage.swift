/// A report as one self-contained page: no script, no other file, for a desk and a phone.
struct ReportPage {
    let report: Report

    var html: String {
        """
        <!doctype html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="generator" content="loadtest">
        <title>\(title.escaped)</title>
        <style>
        \(PageStyle.css)
        </style>
        </head>
        <body>
        <main>
        \(heading)
        \(tiles)
        \(baseline)
        \(latencies)
        \(overTime)
        \(outcomes)
        \(sums)
        \(circumstances)
        <footer>Latencies come from histograms whose buckets are less than 1 % wide. A figure is one machine's, on one
        day: compare ratios within a run before figures of two.</footer>
        </main>
        </body>
        </html>

        """
    }

    private var isRight: Bool { report.complaints.isEmpty }

    private var title: String { "loadtest \(report.test): \(rate) \(unit.many)/s" }

    private var rate: String { Int(report.pushes_per_second.rounded()).grouped }

    /// What is counted: pushes, or what a feed and phones send to the API.
    private var unit: (one: String, many: String) {
        report.test == "ingest" ? ("request", "requests") : ("push", "pushes")
    }

    // MARK: - Head

    private var heading: String {
        let verdict = isRight ? "every push accounted for" : "the sums are wrong"
        let complaints = report.complaints.map { #"<p class="complaint">\#($0.escaped)</p>"# }.joined(separator: "\n")
        let debug =
            report.machine.is_release ? "" : #"<p class="complaint">A debug build: these figures mean nothing.</p>"#
        return """
            <header><h1>loadtest \(report.test)</h1>
            <span class="verdict \(isRight ? "good" : "bad")">\(isRight ? "✓" : "✗") \(verdict)</span></header>
            <p class="soft">\(summary.escaped)</p>
            \(complaints)\(debug)
            """
    }

    private var summary: String {
        "\(report.pushes.grouped) \(unit.many) in \(report.seconds.text(1)) s · \(report.machine.cores) cores, "
            + "\(report.machine.cpu) · \(report.machine.date)"
    }

    private var tiles: String {
        let latency = report.latency_us
        let share = Double(report.accepted) / Double(max(1, report.pushes))
        var tiles = [
            tile(
                "Throughput",
                rate,
                "/s",
                report.sink.is_bound ? "bound by the simulator" : "\(unit.many) with an outcome"
            ),
            tile("CPU a \(unit.one)", report.cpu_us_per_push.text(2), "µs", percent(report.busy) + " of a core"),
            tile(
                "Median latency",
                Self.time(latency.p50).value,
                Self.time(latency.p50).unit,
                "p99 \(Self.text(latency.p99))"
            ),
            tile(
                "Accepted",
                percent(share, places: share > 0.9999 || share < 0.9 ? 0 : 2),
                "",
                "\(report.lost) lost, \(report.doubled) doubled"
            ),
        ]
        if let baseline = report.baseline {
            tiles[0] = tile("Throughput", rate, "/s", "\(baseline.throughput_ratio.text(2)) of \(baseline.tool)'s")
            tiles[1] = tile(
                "CPU a push",
                baseline.ours.cpu_us_per_push.text(2),
                "µs",
                "\(baseline.cpu_ratio.text(2)) of \(baseline.tool)'s"
            )
        }
        return #"<div class="tiles">"# + "\n" + tiles.joined() + "</div>"
    }

    private func tile(_ label: String, _ figure: String, _ unit: String, _ note: String) -> String {
        """
        <div class="tile"><div class="label">\(label)</div><div class="figure">\(figure) <small>\(unit)</small></div>\
        <div class="note">\(note.escaped)</div></div>

        """
    }

    // MARK: - Baseline

    private var baseline: String {
        guard let baseline = report.baseline else { return "" }
        let most = max(baseline.ours.cpu_us_per_push, baseline.theirs.cpu_us_per_push)
        let fastest = max(baseline.ours.pushes_per_second, baseline.theirs.pushes_per_second)
        func cpu(_ name: String, _ side: BaselineFigures.Side, _ style: String) -> Bars.Bar {
            .init(name: name, value: side.cpu_us_per_push, text: side.cpu_us_per_push.text(2) + " µs", style: style)
        }
        func rate(_ name: String, _ side: BaselineFigures.Side, _ style: String) -> Bars.Bar {
            let text = "\(Int(side.pushes_per_second).grouped)/s, listener \(percent(side.sink_busy)) busy"
            return .init(name: name, value: side.pushes_per_second, text: text, style: style)
        }
        let tool = baseline.tool
        return """
            <section><h2>Beside \(baseline.version.escaped)</h2>
            <p class="soft">Medians of \(baseline.rounds.count) rounds in turn, against the same listener, with the same
            headers, body, streams and connections.</p>
            <div class="pair"><div>
            <h2>CPU a push: \(baseline.cpu_ratio.text(2)) <span class="soft">(\(range(baseline.cpu_ratio_spread)))</span></h2>
            \(Bars(bars: [cpu("Touchline", baseline.ours, "one"), cpu(tool, baseline.theirs, "two")], full: most).html)</div><div>
            <h2>Throughput: \(baseline.throughput_ratio.text(2)) <span class="soft">(\(range(baseline.throughput_ratio_spread)))</span></h2>
            \(Bars(bars: [rate("Touchline", baseline.ours, "one"), rate(tool, baseline.theirs, "two")], full: fastest).html)</div></div>
            \(baseline.notes.map { #"<p class="soft">\#($0.escaped)</p>"# }.joined(separator: "\n"))
            </section>
            """
    }

    private func range(_ spread: BaselineFigures.Spread) -> String {
        "\(spread.least.text(2)) to \(spread.greatest.text(2))"
    }

    // MARK: - Tables

    private var outcomes: String {
        let all = report.outcomes.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
        guard !all.isEmpty else { return "" }
        let bars = all.map { name, count in
            Bars.Bar(
                name: name,
                value: Double(count),
                text: "\(count.grouped) · \(percent(Double(count) / Double(max(1, report.pushes)), places: 2))",
                style: name == "accepted" ? "good" : name == "unknown" ? "bad" : "two"
            )
        }
        return "<section><h2>What became of them</h2>\n\(Bars(bars: bars, full: Double(report.pushes)).html)</section>"
    }

    private var sums: String {
        guard !report.sums.isEmpty else { return "" }
        let rows = report.sums.map { line in
            """
            <tr><td>\(line.what.escaped)\(line.note.map { #"<br><span class="soft">\#($0.escaped)</span>"# } ?? "")</td>\
            <td class="number">\(line.ours.grouped)</td><td class="number">\(line.theirs?.grouped ?? "–")</td>\
            <td class="\(line.isRight ? "right" : "wrong")">\(line.isRight ? "✓" : "✗")</td></tr>

            """
        }
        return """
            <section><h2>The books</h2>
            <p class="soft">\(report.lost) lost, \(report.doubled) doubled, \(report.reordered) reordered,
            \(report.late.grouped) late.</p>
            <div class="scroll"><table>
            <tr><th>count</th><th class="number">ours</th><th class="number">theirs</th><th></th></tr>
            \(rows.joined())</table></div></section>
            """
    }

    private var circumstances: String {
        var rows: [(String, String)] = report.settings.sorted { $0.key < $1.key }.map { name, value in
            switch value {
            case .number(let number): (name, Int(exactly: number).map(\.grouped) ?? number.text(2))
            case .text(let text): (name, text)
            }
        }
        rows.append(("connections opened", report.connections.grouped))
        rows.append(("sent again", report.resent.grouped))
        rows.append(("peak memory", Self.bytes(report.peak_rss_bytes)))
        if let memory = report.memory { rows.append(("memory, last tenth / second", memory.ratio.text(3))) }
        if let descriptors = report.descriptors {
            rows.append(("descriptors before, after", "\(descriptors.before), \(descriptors.after)"))
        }
        if let busy = report.sink.busy { rows.append(("simulator busy", percent(busy) + " of a core")) }
        rows.append(("kernel", report.machine.kernel))
        rows.append(("memory of the machine", Self.bytes(report.machine.memory_bytes)))
        let cells = rows.map { "<tr><th>\($0.0.escaped)</th><td>\($0.1.escaped)</td></tr>" }
        let half = (cells.count + 1) / 2
        return """
            <section><h2>Repeat it</h2>
            <pre>\(report.command.escaped)</pre>
            \(report.baseline.map { "<pre>\($0.command.escaped)</pre>" } ?? "")
            <div class="pair">
            <table>\(cells[..<half].joined(separator: "\n"))</table>
            <table>\(cells[half...].joined(separator: "\n"))</table>
            </div></section>
            """
    }

    // MARK: - Texts

    private func percent(_ share: Double, places: Int = 0) -> String { (share * 100).text(places) + " %" }

    static func bytes(_ count: Int) -> String {
        let mebibytes = Double(count) / 1_048_576
        return mebibytes >= 1024 ? (mebibytes / 1024).text(1) + " GiB" : mebibytes.text(1) + " MiB"
    }

    /// A duration in the unit in which people say it.
    static func time(_ us: Int) -> (value: String, unit: String) {
        let value = Double(us)
        if us < 1000 { return (String(us), "µs") }
        if us < 1_000_000 { return ((value / 1e3).text(us < 10_000 ? 2 : us < 100_000 ? 1 : 0), "ms") }
        return ((value / 1e6).text(us < 10_000_000 ? 2 : 1), "s")
    }

    static func text(_ us: Int) -> String {
        let time = time(us)
        return "\(time.value) \(time.unit)"
    }
}
