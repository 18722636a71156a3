internal import APNsProtocol
internal import Core
internal import Store

/// What became of a page's pushes, sorted by what is to be done.
struct PageReport {
    var result = PageResult()
    var counts = TurnCounts()
    /// Pushes that ended in "later" or "unknown".
    var failures: [(row: TokenRow, failure: RetryRule.Failure)] = []
    let pushes: Int
    /// The app's token sends are to stop.
    var stop: String?

    init(_ rows: [TokenRow], _ outcomes: [Outcome], isDowngraded: Bool) {
        precondition(rows.count == outcomes.count, "\(outcomes.count) outcomes of \(rows.count) pushes")
        pushes = rows.count
        counts.wanted = rows.count
        counts.downgraded = isDowngraded ? rows.count : 0
        for (row, outcome) in zip(rows, outcomes) {
            if case .accepted = outcome {
                counts.accepted += 1
                continue
            }
            switch Disposition(outcome) {
            case .accepted: counts.accepted += 1
            case .removeToken(let asOf?) where asOf < row.registeredAt:
                // The phone has named the token again since APNs knew it dead: it is kept, and gets what comes next.
                counts.givenUp += 1
            case .removeToken(let asOf):
                counts.removed += 1
                result.dead.append((row, asOf))
            case .setTokenAside(let reason):
                counts.refused += 1
                result.refused.append((row, reason))
            case .stopApp(let reason): stop = reason
            case .retry(let failure): failures.append((row, failure))
            case .checkChannel, .giveUp: counts.givenUp += 1
            }
        }
    }

    var verdict: PageVerdict {
        PageVerdict(sent: pushes, failed: failures.count)
    }

    /// Why token sends stop when most tokens are refused.
    static func massRefusal(in environment: APNsEnvironment) -> String {
        "more than half of at least 50 tokens were refused within 5 minutes: check that the app's environment "
            + "(\(environment.rawValue)) and bundle id are those of the phones' build"
    }

    /// How long the whole target waits: as long as the most patient of its failures.
    func backOff(attempt: Int, isUrgent: Bool) -> Duration {
        failures.map { RetryRule.delay(after: $0.failure, attempt: attempt, isUrgent: isUrgent) }.max() ?? .seconds(1)
    }

    /// Leaves each failure to a push of its own, which is counted with that.
    mutating func leaveStragglers(version: Int64, isUrgent: Bool, alertVersion: Int64) {
        counts.wanted -= failures.count
        result.stragglers = failures.map { row, failure in
            Straggler(
                activity: row.activity,
                version: version,
                isUrgent: isUrgent,
                alertVersion: alertVersion,
                attempts: 1,
                delay: RetryRule.delay(
                    after: failure,
                    attempt: 1,
                    isUrgent: isUrgent,
                    jitter: RetryRule.jitter(of: row.activity.text, attempt: 1)
                )
            )
        }
    }
}
