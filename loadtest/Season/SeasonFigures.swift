internal import Executables

/// What `--json` has beside the figures of every test, as `season`.
struct SeasonFigures: Codable, Sendable {
    var seed: Int
    var fixtures: Int
    /// By what became of them.
    var fates: [String: Int]
    var kills: Int
    /// Of all services at once.
    var kills_of_all: Int
    var skipped_seconds: Int
    /// Runs of `touchline match import`, and those of them that a kill broke off.
    var imports: Int
    var imports_broken_off: Int
    /// Readings of APNs' list.
    var readings: Int
    /// Different channels that were seen there.
    var channels_seen: Int
    /// The most at once, and how many the lead allowed then.
    var channels_most: Int
    var channels_allowed: Int
    /// Requests that created one, those with a lost answer included.
    var creations: Int
    var deletions: Int
    /// That matches got none in time is no fault, with services dead: how many were over before.
    var matches_without_channel: Int
    var longest_stay_seconds: Double
    var settled_seconds: Double
    var channels_left: Int
    var ledger_left: Int
    var problem_count: Int
    /// The first few.
    var problems: [String]
}

/// The summary of a season for a terminal, within 80 columns.
struct SeasonTable {
    let report: Report
    let season: SeasonFigures

    var text: String {
        let fates = season.fates.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", ")
        var lines = [
            row("seed", "\(season.seed), \(Int(report.seconds)) s, settled \(season.settled_seconds.text(1)) s later"),
            row("fixtures", "\(season.fixtures.grouped): \(fates)"),
            row("imports", "\(season.imports), \(season.imports_broken_off) of them broken off by a kill"),
            row("kill -9", "\(season.kills) of services, \(season.kills_of_all) times all of them at once"),
            row("APNs", "\(season.creations) creations, \(season.deletions) deletions asked for"),
            row("channels", "\(season.channels_seen.grouped) seen in \(season.readings.grouped) readings of its list"),
            row("", "\(season.channels_most) at once at most, \(season.channels_allowed) allowed then"),
            row("", "kept \(season.longest_stay_seconds.text(1)) s after a match at most"),
            row("", "\(season.matches_without_channel) matches over before they had one"),
            "",
            row("left at APNs", "\(season.channels_left)"),
            row("in the ledger", "\(season.ledger_left)"),
            row("broken", "\(season.problem_count) promises"),
        ]
        if season.skipped_seconds > 0 { lines.insert(row("clock", "set on by \(season.skipped_seconds) s"), at: 4) }
        if !season.problems.isEmpty {
            lines += [""] + season.problems + ["", "Run it again: \(report.command)"]
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private func row(_ name: String, _ value: String) -> String {
        name + String(repeating: " ", count: max(1, 15 - name.count)) + value
    }
}
