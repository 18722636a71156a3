internal import Core
internal import Executables

/// What a replay prints in the end: a line per match, sums, and on how many phones the final state stands.
struct ReplayReport {
    let outcomes: [Replay.Outcome]
    let hasPhones: Bool

    /// Throws a ``Failure`` when a match could not be played, or a phone is wrong.
    func print(asJSON: Bool) throws(Failure) {
        if asJSON {
            Terminal.print(json.text)
        } else {
            printLines()
        }
        let failed = outcomes.filter { $0.failure != nil }
        if let failure = failed.first?.failure {
            throw Failure(failure.kind, "\(failed.count) matches failed, the first by: \(failure.message)")
        }
        guard right == phones else { throw Failure(.failed, "\(phones - right) phones do not show the result") }
    }

    private var accepted: Int { outcomes.reduce(0) { $0 + $1.report.accepted } }
    private var merged: Int { outcomes.reduce(0) { $0 + $1.merged } }
    private var phones: Int { outcomes.reduce(0) { $0 + $1.phones } }
    private var right: Int { outcomes.reduce(0) { $0 + $1.right } }

    private func printLines() {
        let ids = outcomes.map(\.entry.id.count).max() ?? 0
        for outcome in outcomes { Terminal.print(line(outcome, idWidth: min(ids, 30))) }
        Terminal.print("\(outcomes.count) matches, \(accepted) events accepted, \(merged) versions merged")
        if hasPhones { Terminal.print("\(right) of \(phones) phones on the final state") }
    }

    private var json: JSONOutput {
        [
            "matches": .array(
                outcomes.map { outcome in
                    [
                        "match": .string(outcome.entry.id), "score": .string(outcome.entry.script.final.score),
                        "accepted": .int(outcome.report.accepted), "merged": .int(outcome.merged),
                        "phones": .int(outcome.phones), "right": .int(outcome.right),
                        "error": .string(outcome.failure?.message),
                    ]
                }
            ),
            "accepted": .int(accepted), "merged": .int(merged), "phones": .int(phones), "right": .int(right),
        ]
    }

    private func line(_ outcome: Replay.Outcome, idWidth: Int) -> String {
        let final = outcome.entry.script.final
        let id = outcome.entry.id
        let name = id + String(repeating: " ", count: max(0, idWidth - id.count))
        let score = "\(name)  \(final.homeName) \(final.score) \(final.awayName)"
        if let failure = outcome.failure { return "\(score): \(failure.message)" }
        let phones = hasPhones ? ", \(outcome.right) of \(outcome.phones) phones" : ""
        return "\(score): \(outcome.report.accepted) events, \(outcome.merged) merged\(phones)"
    }
}
