internal import APNs
internal import APNsProtocol
internal import Core
internal import Store

/// Sends to single tokens what a sweep could not, or what they lacked when they registered.
struct StragglerRunner {
    private let context: DispatchContext

    init(context: DispatchContext) {
        self.context = context
    }

    /// Stragglers of one match that get the same push.
    private struct Group: Hashable {
        let priority: Int
        let carriesAlert: Bool
    }

    /// Sends to claimed stragglers of one match in one environment.
    func run(_ claimed: [ClaimedStraggler]) async throws(StoreError) {
        guard let first = claimed.first else { return }
        let environment = first.target.environment
        guard let read = try await context.store.matchState(first.match, in: environment, by: context.storeDeadline)
        else { return }
        guard !read.isBlocked(for: .tokens) else {
            // The app is paused or stopped.
            try await postpone(claimed, of: read, for: .seconds(60))
            return
        }
        let state: MatchState
        switch try await context.stamped(read) {
        case .stamped(let stamped): state = stamped
        case .overtaken: return try await run(claimed)
        case .wait(let duration): return try await postpone(claimed, of: read, for: duration)
        }
        var (done, left): ([ClaimedStraggler], [ClaimedStraggler]) = ([], [])
        for straggler in claimed {
            // Whom a sweep of the newest version has passed since needs nothing.
            let isServed = straggler.sweptVersion > straggler.version && straggler.sweptVersion == state.head.version
            if isServed { done.append(straggler) } else { left.append(straggler) }
        }
        try await context.store.finishStragglers(
            of: state.key,
            done: done,
            result: PageResult(),
            turns: [],
            by: context.storeDeadline
        )
        let hasAlert = AlertRule.isPending(state.head, now: state.now)
        let groups = Dictionary(grouping: left) { straggler in
            Group(
                priority: straggler.isUrgent || state.head.isEnd ? 10 : 5,
                carriesAlert: hasAlert && straggler.alertVersion == state.head.alertVersion
            )
        }
        for (group, stragglers) in groups {
            try await send(stragglers, as: group, state: state)
        }
    }

    private func send(
        _ stragglers: [ClaimedStraggler],
        as group: Group,
        state: MatchState
    ) async throws(StoreError) {
        let composition = PushComposition(
            state,
            priority: group.priority,
            isUrgent: group.priority == 10,
            carriesAlert: group.carriesAlert
        )
        guard let composition else { return }
        let begin = ContinuousClock.now
        let batch = composition.batch(stragglers.map(\.row), deadline: begin + context.configuration.pushDeadline * 0.6)
        let outcomes = await context.pool.send(batch)
        try await settle(stragglers, outcomes, as: group, state: state, pushedAt: state.now + (.now - begin))
    }

    private func settle(
        _ stragglers: [ClaimedStraggler],
        _ outcomes: [Outcome],
        as group: Group,
        state: MatchState,
        pushedAt: Moment
    ) async throws(StoreError) {
        let report = PageReport(stragglers.map(\.row), outcomes, isDowngraded: false)
        var result = report.result
        let failures = Dictionary(uniqueKeysWithValues: report.failures.map { ($0.row.number, $0.failure) })
        var counts: [TargetKey: TurnCounts] = [:]
        var done: [ClaimedStraggler] = []
        var ended: [ActivityID] = []
        for (straggler, outcome) in zip(stragglers, outcomes) {
            var count = TurnCounts()
            count.wanted = 1
            count.firstPushAt = pushedAt
            count.lastPushAt = pushedAt
            switch Disposition(outcome) {
            case .accepted:
                count.accepted = 1
                if state.head.isEnd { ended.append(straggler.row.activity) }
            case .removeToken: count.removed = 1
            case .setTokenAside: count.refused = 1
            case .checkChannel, .giveUp: count.givenUp = 1
            case .stopApp: continue
            case .retry:
                count.resent = 1
                if straggler.attempts >= RetryRule.attempts {
                    count.givenUp = 1
                } else if let failure = failures[straggler.row.number] {
                    count.wanted = 0
                    result.stragglers.append(again(straggler, failure, as: group, state: state))
                    counts[straggler.target, default: TurnCounts()] += count
                    continue
                }
            }
            done.append(straggler)
            counts[straggler.target, default: TurnCounts()] += count
        }
        if let reason = report.stop, let app = state.app {
            try await context.store.stop(.tokens, of: app.key, because: reason, by: context.storeDeadline)
        }
        try await context.store.finishStragglers(
            of: state.key,
            done: done,
            ended: ended,
            result: result,
            turns: counts.map { target, counts in
                (target, turn(counts, of: state, priority: group.priority))
            },
            by: context.storeDeadline
        )
    }

    private func again(
        _ straggler: ClaimedStraggler,
        _ failure: RetryRule.Failure,
        as group: Group,
        state: MatchState
    ) -> Straggler {
        Straggler(
            activity: straggler.row.activity,
            version: state.head.version,
            isUrgent: straggler.isUrgent,
            alertVersion: group.carriesAlert ? straggler.alertVersion : 0,
            attempts: straggler.attempts + 1,
            delay: RetryRule.delay(after: failure, attempt: straggler.attempts + 1, isUrgent: straggler.isUrgent)
        )
    }

    private func turn(_ counts: TurnCounts, of state: MatchState, priority: Int) -> TurnRecord {
        TurnRecord(
            from: state.head.version,
            to: state.head.version,
            priority: priority,
            acceptedAt: state.acceptedAt,
            counts: counts
        )
    }

    /// They are looked at again after a while, as they are.
    private func postpone(
        _ claimed: [ClaimedStraggler],
        of state: MatchState,
        for duration: Duration
    ) async throws(StoreError) {
        var result = PageResult()
        result.stragglers = claimed.map { straggler in
            Straggler(
                activity: straggler.row.activity,
                version: straggler.version,
                isUrgent: straggler.isUrgent,
                alertVersion: straggler.alertVersion,
                attempts: straggler.attempts,
                delay: duration
            )
        }
        try await context.store.finishStragglers(
            of: state.key,
            done: [],
            result: result,
            turns: [],
            by: context.storeDeadline
        )
    }
}
