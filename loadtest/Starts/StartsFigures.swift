internal import Executables

/// What `--json` has beside the figures of every test, as `starts`.
struct StartsFigures: Codable, Sendable {
    struct Round: Codable, Sendable {
        /// Devices that follow.
        var wanted = 0
        /// Kills while the pass was under way, and how many starts were recorded at each.
        var kills: [Int] = []
        /// Devices that had exactly one, by the simulator's records.
        var once = 0
        var twice = 0
        /// Had one and follow neither team.
        var unwanted = 0
        var missing = 0
        /// As the service says: accepted, unknown and the like.
        var states: [String: Int] = [:]
        /// Of the unknown: did arrive.
        var unknown_arrived = 0
        /// Has none, and the service does not say that it is unknown.
        var lost = 0
        var seconds = 0.0
    }

    var seed: Int
    var devices: Int
    var rounds: [Round]
    var problems: [String]

    var sum: Round {
        rounds.reduce(into: Round()) { sum, round in
            sum.wanted += round.wanted
            sum.kills += round.kills
            sum.once += round.once
            sum.twice += round.twice
            sum.unwanted += round.unwanted
            sum.missing += round.missing
            sum.states.merge(round.states) { $0 + $1 }
            sum.unknown_arrived += round.unknown_arrived
            sum.lost += round.lost
            sum.seconds += round.seconds
        }
    }
}

/// The summary for a terminal, within 80 columns.
struct StartsTable {
    let report: Report
    let starts: StartsFigures

    var text: String {
        let sum = starts.sum
        let states = sum.states.filter { $0.value > 0 }.sorted { $0.key < $1.key }
            .map { "\($0.value.grouped) \($0.key.replacing("_", with: " "))" }
        var lines = [
            row("seed", "\(starts.seed), \(starts.rounds.count) rounds, \(sum.seconds.text(1)) s of starting"),
            row(report.settings["faults"] == .text("stop") ? "SIGSTOP" : "kill -9", "\(sum.kills.count) in the middle"),
            row("wanted", "\(sum.wanted.grouped) starts"),
            row("the service", states.joined(separator: ", ")),
            row("unknown", "\((sum.states["unknown"] ?? 0).grouped), of them \(sum.unknown_arrived.grouped) arrived"),
            "",
            row("exactly one", sum.once.grouped),
            row("two or more", sum.twice.grouped),
            row("none", "\(sum.missing.grouped), of them \(sum.lost.grouped) that the service does not know of"),
            row("not wanted", sum.unwanted.grouped),
        ]
        if !starts.problems.isEmpty {
            lines += [""] + starts.problems + ["", "Run it again: \(report.command)"]
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private func row(_ name: String, _ value: String) -> String {
        name + String(repeating: " ", count: max(1, 15 - name.count)) + value
    }
}
