internal import APNsProtocol
internal import Core
internal import Store

/// What became of a page's pushes, sorted by what is to be done.
struct PageReport {
    var result = PageResult()
    var counts = TurnCounts()
    /// Pushes that ended in "later" or "unknown".
    var failures: [(row: TokenRow, failure: RetryRule.Failure)] = []
    /// Of the page, those included that had been accepted when it was sent before.
    let pushes: Int
    /// The app's token sends are to stop.
    var stop: String?

    /// - Parameters:
    ///   - rows: That were sent to.
    ///   - outcomes: One for each of `rows`.
    ///   - isDowngraded: They went at priority 5 though the version is key.
    ///   - expired: Rows whose token is too old to be sent to.
    ///   - passed: How many more were accepted when the page was sent before.
    ///   - now: The database's clock.
    init(
        _ rows: [TokenRow],
        _ outcomes: [Outcome],
        isDowngraded: Bool,
        expired: [TokenRow] = [],
        passed: Int = 0,
        now: Moment = Moment(milliseconds: 0)
    ) {
        precondition(rows.count == outcomes.count, "\(outcomes.count) outcomes of \(rows.count) pushes")
        pushes = rows.count + passed
        counts.wanted = rows.count + expired.count + passed
        counts.accepted = passed
        counts.removed = expired.count
        result.dead = expired.map { ($0, now - Self.tokenLife) }
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

    /// A Live Activity is active for eight hours at most.
    static let tokenLife = Duration.seconds(8 * 3600)

    /// Why token sends stop when most tokens are refused.
    static func massRefusal(in environment: APNsEnvironment) -> String {
        "more than half of at least 50 tokens were refused within 5 minutes: check that the app's environment "
            + "(\(environment.rawValue)) and bundle id are those of the phones' build"
    }

    /// How long a target waits of whose page most failed, and some did not. What APNs asks of single phones binds those alone.
    ///
    /// Up to a quarter more, by target, so that those that are stopped together do not come back together.
    static func backOff(of target: TargetKey, attempt: Int) -> Duration {
        let pauses = OutageRule.pauses
        let pause = pauses[min(max(attempt, 1), pauses.count) - 1]
        return pause + pause * (RetryRule.jitter(of: target.text, attempt: attempt) / 4)
    }

    /// Leaves each failure to a push of its own, which is counted with that.
    ///
    /// - Parameters:
    ///   - target: Whose page it was.
    ///   - version: That was sent.
    ///   - isUrgent: Whether it went by the rules of a key version.
    ///   - alertVersion: Of the alert that went with it; 0: none.
    ///   - quiet: Rows that were sent to without it.
    mutating func handOver(
        from target: TargetKey,
        version: Int64,
        isUrgent: Bool,
        alertVersion: Int64,
        quiet: Set<Int64>
    ) {
        counts.handed += failures.count
        let groups = Dictionary(grouping: failures) { quiet.contains($0.row.number) ? 0 : alertVersion }
        result.handedOver = groups.sorted { $0.key < $1.key }.map { alertVersion, failures in
            HandedOver(
                target: target,
                version: version,
                isUrgent: isUrgent,
                alertVersion: alertVersion,
                stragglers: failures.map { row, failure in
                    Straggler(
                        activity: row.activity,
                        delay: RetryRule.delay(
                            after: failure,
                            attempt: 1,
                            isUrgent: isUrgent,
                            jitter: RetryRule.jitter(of: row.activity.text, attempt: 1)
                        )
                    )
                }
            )
        }
    }
}
