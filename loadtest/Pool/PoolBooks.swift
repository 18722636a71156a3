/// The sums of a run: each push has one outcome, and each outcome is one that the other end gave.
struct PoolBooks: Sendable {
    /// Pushes handed to the pool.
    let offered: Int
    let outcomes: OutcomeCounts
    /// Requests beyond the first of a push.
    let resent: Int
    /// What the simulator counted meanwhile; nil with another listener.
    let sink: SimulatorControl.Counts?
    /// Whether it reads the pushes' ids.
    let countsDoubles: Bool

    func write(into report: inout Report) {
        report.pushes = offered
        report.accepted = outcomes.accepted
        report.outcomes = outcomes.byName
        report.sums = lines
        report.lost = lost
        report.doubled = doubled
        report.reordered = sink?.reordered ?? 0
        report.sink.requests = sink.map { $0.requests.values.reduce(0, +) }
        report.sink.answers = sink?.answers
        report.complaints = complaints
    }

    /// Pushes without an outcome, and outcomes that the other end never gave.
    var lost: Int {
        max(0, offered - outcomes.total) + byName.reduce(0) { $0 + max(0, $1.ours - $1.theirs) }
    }

    /// Pushes that were accepted more than once. By their ids where the other end reads them; else what it accepted beyond
    /// what we know of and beyond what is doubtful.
    var doubled: Int {
        guard let sink else { return 0 }
        if countsDoubles, let ids = sink.doubled_ids { return ids }
        return max(0, (sink.answers["200"] ?? 0) - outcomes.accepted - unknown)
    }

    private var unknown: Int { outcomes.others[OutcomeCounts.unknown] ?? 0 }

    private struct Pair {
        let name: String
        let ours: Int
        let theirs: Int
    }

    /// Each outcome that is an answer, with how often the other end gave it.
    private var byName: [Pair] {
        guard let sink else { return [] }
        var theirs: [String: Int] = [:]
        for (answer, count) in sink.answers { theirs[OutcomeCounts.name(ofAnswer: answer), default: 0] += count }
        let ours = outcomes.byName.filter { ![OutcomeCounts.unknown, OutcomeCounts.notProcessed].contains($0.key) }
        return Set(theirs.keys).union(ours.keys).sorted().map { name in
            Pair(name: name, ours: ours[name] ?? 0, theirs: theirs[name] ?? 0)
        }
    }

    /// Answers that the other end gave and nobody heard.
    private var unheard: Int { byName.reduce(0) { $0 + max(0, $1.theirs - $1.ours) } }

    private var lines: [Report.SumLine] {
        var lines = [
            Report.SumLine(
                what: "pushes offered, and outcomes",
                ours: offered,
                theirs: outcomes.total,
                isRight: offered == outcomes.total
            )
        ]
        guard sink != nil else { return lines }
        for pair in byName {
            lines.append(
                Report.SumLine(
                    what: pair.name,
                    ours: pair.ours,
                    theirs: pair.theirs,
                    isRight: pair.ours <= pair.theirs,
                    note: pair.ours < pair.theirs ? "answers that did not arrive" : nil
                )
            )
        }
        lines.append(
            Report.SumLine(
                what: "unknown, at least the answers that did not arrive",
                ours: unknown,
                theirs: unheard,
                isRight: unheard <= unknown + resent,
                note: "each of these may have been sent, and is never sent again"
            )
        )
        return lines
    }

    private var complaints: [String] {
        var complaints: [String] = []
        if outcomes.accepted == 0 { complaints.append("no push was accepted") }
        if lost > 0 { complaints.append("\(lost) pushes lost") }
        if let forgotten = sink?.ids_forgotten, forgotten > 0 {
            complaints.append("the simulator forgot \(forgotten) ids: doubled may be too small")
        }
        if doubled > 0 { complaints.append("\(doubled) pushes doubled") }
        if unheard > unknown + resent {
            complaints.append("\(unheard - unknown) answers were given that no push has")
        }
        return complaints
    }
}
