/// The summary of a chaos run for a terminal, within 80 columns.
struct ChaosTable {
    let report: Report
    let chaos: ChaosFigures

    var text: String {
        var lines = [
            row("seed", "\(chaos.seed), \(Int(report.seconds)) s, settled \(chaos.settled_seconds.text(1)) s later"),
            row("faults", "\(chaos.faults.values.reduce(0, +).grouped) of \(chaos.faults.count) kinds" + leftOut),
            row("matches", "\(chaos.matches.grouped), \(chaos.events.grouped) events: " + events),
            row("", "\(chaos.events_duplicated.grouped) twice, \(chaos.events_reordered.grouped) in another order"),
            row("calls", calls),
            row(
                "phones",
                "\(chaos.phones_checked.grouped) checked; \(chaos.phones_registered.grouped) on tokens, of them"
            ),
            row("", "\(chaos.phones_rotated.grouped) rotated, \(chaos.phones_changed_cadence.grouped) set otherwise,"),
            row("", "\(chaos.phones_refused.grouped) refused by APNs, \(chaos.phones_revived.grouped) back again"),
            row("pushes", "\(report.accepted.grouped) accepted of \(report.pushes.grouped)"),
            row("last push", latency),
            "",
            row("lost", "\(chaos.lost)"),
            row("stale", "\(chaos.stale)"),
            row("reordered", "\(chaos.reordered)" + overtaken),
            row("doubled", explained(chaos.doubled, chaos.doubled_unexplained)),
            row("", "\(chaos.doubled_by_registration.grouped) more, to tokens that were registered once more,"),
            row("", "\(chaos.alerts_after.grouped) more, with an alert that had failed before"),
            row("", "\(chaos.pushes_in_doubt.grouped) ended in doubt, \(chaos.pushes_resent.grouped) sent again"),
            row("alerts", "\(chaos.alerts_wanted.grouped) wanted: \(chaos.alerts_shown.grouped) shown,"),
            row("", "\(chaos.alerts_replaced.grouped) by a newer one, \(chaos.alerts_cancelled.grouped) taken back,"),
            row("", "\(chaos.alerts_expired.grouped) expired when a clock was stepped"),
            row("", "doubled: " + explained(chaos.alerts_doubled, chaos.alerts_doubled_unexplained)),
            row("starts", "\(chaos.starts_wanted.grouped) wanted, \(chaos.starts_shown.grouped) shown: " + starts),
            row("sums", chaos.sums_off == 0 ? "add up" : "\(chaos.sums_off) are off"),
            row("services", chaos.misdeeds == 0 ? "behaved" : "\(chaos.misdeeds) times not as they should"),
        ]
        if !chaos.problems.isEmpty {
            lines.append("")
            lines += chaos.problems.flatMap { Self.wrapped($0) }
            lines += ["", "Run it again: \(report.command)"]
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private var events: String {
        "\(chaos.events_accepted.grouped) accepted, \(chaos.events_superseded.grouped) superseded, "
            + "\(chaos.events_ignored.grouped) ignored"
    }

    private var leftOut: String {
        let kinds = chaos.faults_left_out.keys.sorted().joined(separator: ", ")
        return kinds.isEmpty ? "" : "; left out: \(kinds)"
    }

    private var calls: String {
        let answers = chaos.calls_answered.sorted { $0.key < $1.key }.map { "\($0.value.grouped) × \($0.key)" }
        return (answers + ["\(chaos.calls_unanswered.grouped) unanswered"]).joined(separator: ", ")
    }

    private var latency: String {
        func seconds(_ us: Int) -> String { (Double(us) / 1e6).text(2) }
        let figures = report.latency_us
        return "p50 \(seconds(figures.p50)) s, p99 \(seconds(figures.p99)) s, most \(seconds(figures.max)) s"
    }

    private var starts: String {
        chaos.starts.sorted { $0.key < $1.key }.map { "\($0.value.grouped) \($0.key.replacing("_", with: " "))" }
            .joined(separator: ", ")
    }

    private var overtaken: String {
        chaos.overtaken == 0 ? "" : "; \(chaos.overtaken.grouped) held up by faults and overtaken: phones ignore them"
    }

    private func explained(_ count: Int, _ unexplained: Int) -> String {
        if count == 0 { return "0" }
        let rest = unexplained == 0 ? "all explained by faults" : "\(unexplained.grouped) without a reason"
        return "\(count.grouped), \(rest)"
    }

    private func row(_ name: String, _ value: String) -> String {
        name + String(repeating: " ", count: max(1, 12 - name.count)) + value
    }

    /// Lines of at most 80 characters, those behind the first indented.
    private static func wrapped(_ text: String) -> [String] {
        var lines = [""]
        for word in text.split(separator: " ") {
            let last = lines[lines.count - 1]
            if last.count + word.count + 1 > 80, !last.isEmpty {
                lines.append("    " + word)
            } else {
                lines[lines.count - 1] += (last.isEmpty ? "" : " ") + word
            }
        }
        return lines
    }
}
