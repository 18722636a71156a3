internal import Executables

/// All that a run came to, and its report.
struct ChaosOutcome: Sendable {
    let options: ChaosOptions
    let plan: ChaosPlan
    let faults: [FaultRecord]
    var seconds = 0.0
    var settledSeconds = 0.0
    /// Kinds of faults that this machine cannot make, and why.
    var leftOut: [ChaosFault.Kind: String] = [:]
    var matches = 0
    var phones = MatchPlay.PhoneCounts()
    var duplicates = 0
    var reorderings = 0
    var calls = CallTallies.Values()
    var verdict = ChaosVerdict()
    var counts = SimulatorControl.Counts(requests: [:], answers: [:], connections: 0)
    /// As services said in their metrics.
    var doubts = 0
    /// As services wrote down.
    var resent = 0
    var latencies = LatencyFigures()

    init(options: ChaosOptions, plan: ChaosPlan, faults: [FaultRecord]) {
        self.options = options
        self.plan = plan
        self.faults = faults
    }

    /// The line that repeats it.
    var command: String {
        var words = ["loadtest chaos"]
        if options.seconds % 60 == 0 {
            words.append("--minutes \(options.seconds / 60)")
        } else {
            words.append("--seconds \(options.seconds)")
        }
        words.append("--seed \(options.seed)")
        for option in ["services": options.services, "matches": options.matches, "phones": options.phones]
            .merging(["rate": options.rate, "pace": options.paceMilliseconds], uniquingKeysWith: { $1 })
            .sorted(by: { $0.key < $1.key })
        {
            let standard = ChaosOptions.declared.first { $0.name == "--\(option.key)" }?.fallback
            if standard != String(option.value) { words.append("--\(option.key) \(option.value)") }
        }
        if case .text(let groups)? = options.settings["faults"], options.groups.count < ChaosFault.Group.allCases.count
        {
            words.append("--faults \(groups)")
        }
        return words.joined(separator: " ")
    }

    var report: Report {
        var report = Report(test: "chaos", command: command)
        report.accepted = counts.answers["200"] ?? 0
        report.pushes = counts.requests.values.reduce(0, +)
        report.lost = verdict.count(.lost)
        report.doubled = verdict.repeated
        report.reordered = verdict.older - verdict.olderExplained
        report.outcomes = counts.answers
        report.seconds = seconds
        report.pushes_per_second = seconds > 0 ? Double(report.accepted) / seconds : 0
        report.latency_us = latencies
        report.connections = counts.connections
        report.resent = resent
        report.sink.requests = report.pushes
        report.sink.answers = counts.answers
        report.settings = options.settings
        report.machine = .here()
        report.chaos = figures
        if !verdict.isGood {
            report.complaints = ChaosVerdict.Kind.allCases.compactMap { kind in
                let count = verdict.count(kind)
                return count == 0 ? nil : "\(count) \(kind.complaint)"
            }
            report.complaints[0] = "seed \(options.seed): " + report.complaints[0]
        }
        return report
    }

    private var figures: ChaosFigures {
        ChaosFigures(
            seed: options.seed,
            faults: Dictionary(grouping: faults, by: \.fault.kind.rawValue).mapValues(\.count),
            faults_left_out: Dictionary(uniqueKeysWithValues: leftOut.map { ($0.rawValue, $1) }),
            matches: matches,
            events: verdict.events,
            events_accepted: verdict.accepted,
            events_superseded: verdict.superseded,
            events_ignored: verdict.ignored,
            events_duplicated: duplicates,
            events_reordered: reorderings,
            calls_unanswered: calls.unanswered,
            calls_answered: Dictionary(uniqueKeysWithValues: calls.answers.map { (String($0), $1) }),
            phones_registered: phones.registered,
            phones_rotated: phones.rotated,
            phones_changed_cadence: phones.cadences,
            phones_refused: phones.refused,
            phones_revived: phones.revived,
            phones_left: phones.left,
            phones_checked: verdict.phones,
            settled_seconds: settledSeconds,
            lost: verdict.count(.lost),
            stale: verdict.count(.stale),
            reordered: verdict.older - verdict.olderExplained,
            overtaken: verdict.olderExplained,
            doubled: verdict.repeated,
            doubled_unexplained: verdict.repeated - verdict.repeatedExplained,
            doubled_by_registration: verdict.asked,
            alerts_after: verdict.alertsAfter,
            pushes_in_doubt: doubts,
            pushes_resent: resent,
            alerts_wanted: verdict.alertsWanted,
            alerts_shown: verdict.alertsShown,
            alerts_replaced: verdict.alertsReplaced,
            alerts_cancelled: verdict.alertsCancelled,
            alerts_expired: verdict.alertsExpired,
            alerts_doubled: verdict.alertsDoubled,
            alerts_doubled_unexplained: verdict.alertsDoubled - verdict.alertsDoubledExplained,
            starts_wanted: verdict.followers,
            starts_shown: verdict.started,
            starts: verdict.starts,
            sums_off: verdict.count(.sums),
            misdeeds: verdict.count(.misdeed),
            problems: verdict.problems.map { "\($0.kind.rawValue): \($0.text)" }
        )
    }
}

extension ChaosVerdict.Kind {
    fileprivate var complaint: String {
        switch self {
        case .lost: "lost"
        case .stale: "stale"
        case .reordered: "reordered without a reason"
        case .doubled: "doubled without a reason"
        case .sums: "sums that are off"
        case .misdeed: "answers or ends that should not be"
        }
    }
}

/// What `--json` has beside the figures of every test, as `chaos`.
struct ChaosFigures: Codable, Sendable {
    var seed: Int
    /// By kind.
    var faults: [String: Int]
    /// Kinds that this machine cannot make, and why.
    var faults_left_out: [String: String]
    var matches: Int
    var events: Int
    var events_accepted: Int
    var events_superseded: Int
    var events_ignored: Int
    var events_duplicated: Int
    var events_reordered: Int
    var calls_unanswered: Int
    /// By status.
    var calls_answered: [String: Int]
    var phones_registered: Int
    var phones_rotated: Int
    var phones_changed_cadence: Int
    var phones_refused: Int
    var phones_revived: Int
    var phones_left: Int
    var phones_checked: Int
    var settled_seconds: Double
    /// Events, phones and alerts that have nothing to show for it.
    var lost: Int
    var stale: Int
    /// Older pushes that came behind newer ones for no reason, and those that APNs had made wait; phones ignore both.
    var reordered: Int
    var overtaken: Int
    var doubled: Int
    var doubled_unexplained: Int
    /// Of none of those: tokens were registered once more, which asks for the newest state again.
    var doubled_by_registration: Int
    /// Of none of those: an alert that had failed came behind its state, with a push of its own.
    var alerts_after: Int
    var pushes_in_doubt: Int
    var pushes_resent: Int
    var alerts_wanted: Int
    var alerts_shown: Int
    var alerts_replaced: Int
    var alerts_cancelled: Int
    /// Not shown: the database's clock was stepped while they were pending.
    var alerts_expired: Int
    var alerts_doubled: Int
    var alerts_doubled_unexplained: Int
    var starts_wanted: Int
    var starts_shown: Int
    /// By what the service says became of them: one that is `unknown` is in doubt, and is not sent again.
    var starts: [String: Int]
    var sums_off: Int
    var misdeeds: Int
    /// The first few of each kind.
    var problems: [String]
}
