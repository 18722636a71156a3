internal import Executables

/// The sums of a run of the whole service: what it says of its sends, what the simulator counted, and what phones show.
struct PathBooks: Sendable {
    /// Phones that have to show the last state.
    let phones: Int
    let isLean: Bool
    var sink: SimulatorControl.Counts?
    private var wanted = 0
    private var outcomes: [String: Int] = [:]
    private var resent = 0
    private var versions = 0
    private var merged = 0
    private let lastPush = SharedHistogram()
    private let parts = [
        "channel": (first: SharedHistogram(), last: SharedHistogram()),
        "tokens": (first: SharedHistogram(), last: SharedHistogram()),
    ]
    private var right: Int?
    private var summary: SimulatorControl.Summary?

    init(phones: Int, isLean: Bool) {
        self.phones = phones
        self.isLean = isLean
    }

    mutating func add(_ deliveries: Deliveries) {
        versions += deliveries.version
        merged += deliveries.merged_versions
        for send in deliveries.sends {
            wanted += send.wanted
            resent += send.resent
            for (name, count) in [
                ("accepted", send.accepted), ("removed", send.removed), ("refused", send.refused),
                ("given up", send.given_up),
            ] where count > 0 { outcomes[name, default: 0] += count }
            guard let first = send.first_push_ms, let last = send.last_push_ms else { continue }
            parts[send.target]?.first.record(.milliseconds(first))
            parts[send.target]?.last.record(.milliseconds(last))
            lastPush.record(.milliseconds(last))
        }
    }

    /// Asks the simulator what phones show, again while some are not right yet.
    mutating func look(
        at simulator: SimulatorControl,
        _ finals: [MatchState],
        within patience: Duration
    ) async throws(Failure) {
        let end = ContinuousClock.now + patience
        while true {
            let summary = try await simulator.summary()
            self.summary = summary
            right = summary.right(finals)
            if right == phones || ContinuousClock.now >= end { return }
            try? await Task.sleep(for: .milliseconds(200))
        }
    }

    func write(into report: inout Report) {
        report.pushes = outcomes.values.reduce(0, +)
        report.accepted = outcomes["accepted"] ?? 0
        report.outcomes = outcomes
        report.resent = resent
        report.latency_us = lastPush.figures
        report.sink.answers = sink?.answers
        report.sink.requests = sink.map { $0.requests.values.reduce(0, +) }
        report.connections = sink?.connections ?? 0
        let answered = sink?.answers["200"] ?? 0
        report.lost = right.map { phones - $0 } ?? max(0, report.accepted - answered)
        report.doubled = summary?.doubled_alerts ?? 0
        report.reordered = summary?.dropped?.older ?? 0
        for (name, part) in parts.sorted(by: { $0.key < $1.key }) where part.first.count > 0 {
            for (title, histogram) in [("first push", part.first), ("last push", part.last)] {
                report.parts.append(
                    Report.Part(name: "\(name), \(title)", count: histogram.count, latency_us: histogram.figures)
                )
            }
        }
        report.sums = lines(report, answered)
        for line in report.sums where !line.isRight {
            report.complaints.append("\(line.what): \(line.ours), not \(line.theirs ?? 0)")
        }
        if report.accepted == 0 { report.complaints.append("no push was accepted") }
    }

    private func lines(_ report: Report, _ answered: Int) -> [Report.SumLine] {
        var lines = [
            Report.SumLine(
                what: "pushes accepted, and answers of 200",
                ours: report.accepted,
                theirs: answered,
                isRight: report.accepted <= answered,
                note: "\(versions) versions, \(merged) of them merged into newer ones"
            )
        ]
        guard let right else { return lines }
        lines.append(
            Report.SumLine(what: "phones on the last state", ours: right, theirs: phones, isRight: right == phones)
        )
        if let undecodable = summary?.dropped?.undecodable {
            lines.append(
                Report.SumLine(
                    what: "pushes that no phone could read",
                    ours: undecodable,
                    theirs: 0,
                    isRight: undecodable == 0
                )
            )
        }
        return lines
    }
}
