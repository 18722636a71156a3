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
        let isUrgent: Bool
        let isDowngraded: Bool
        let carriesAlert: Bool
        /// A sweep has sent it this version: the same `apns-id` goes again.
        let isResend: Bool
    }

    private struct Recipient {
        let straggler: ClaimedStraggler
        let row: TokenRow
        /// Failed pushes of the version that is sent now.
        let attempts: Int
    }

    /// Sends to claimed stragglers of one match in one environment.
    func run(_ claimed: [ClaimedStraggler]) async throws(StoreError) {
        guard let first = claimed.first else { return }
        let environment = first.target.environment
        let read = try await context.store.readStragglers(
            claimed,
            of: first.match,
            in: environment,
            by: context.storeDeadline
        )
        guard let (state, rows) = read else { return try await postpone(claimed, for: .milliseconds(20)) }
        guard !state.isBlocked(for: .tokens), let app = state.app else {
            // The app is paused or stopped: resuming looks at them at once.
            return try await postpone(claimed, for: .seconds(60))
        }
        guard state.isStamped else {
            switch try await context.stamped(state) {
            case .stamped, .overtaken: return try await run(claimed)
            case .wait(let duration): return try await postpone(claimed, for: duration)
            }
        }
        let route = RouteKey(app: app.key, kind: .tokens)
        let gate = try await context.outages.gate(route)
        guard gate != .send else {
            return try await send(sorted(claimed, rows, state: state, app: app), state: state, route: route, gate)
        }
        // One waits for the next probe, or is it; the others come a while after, since its success brings them forward.
        let (one, others) = (Array(claimed.prefix(1)), Array(claimed.dropFirst()))
        let pause = if case .wait(let duration) = gate { duration } else { Duration.zero }
        try await postpone(others, for: pause + Self.behindProbe)
        guard gate == .probe else { return try await postpone(one, for: pause) }
        let groups = try await sorted(one, rows, state: state, app: app)
        if groups.isEmpty { try await context.store.giveBackProbe(of: route, by: context.storeDeadline) }
        try await send(groups, state: state, route: route, gate)
    }

    /// How long after an outage's next probe single phones look at it by themselves.
    private static let behindProbe = Duration.seconds(10)

    /// Decides on each; whoever is not sent to is done with here.
    private func sorted(
        _ claimed: [ClaimedStraggler],
        _ rows: [ActivityID: StragglerRow],
        state: MatchState,
        app: AppState
    ) async throws(StoreError) -> [Group: [Recipient]] {
        var groups: [Group: [Recipient]] = [:]
        var ends: [StragglerEnd: [ClaimedStraggler]] = [:]
        var (doubtful, takenOver): ([ClaimedStraggler], [ActivityID]) = ([], [])
        var expired = PageResult()
        for straggler in claimed {
            guard let found = rows[straggler.activity] else {
                ends[.removed, default: []].append(straggler)
                continue
            }
            let facts = found.facts
            switch StragglerRule.decide(facts, head: state.head, now: state.now) {
            case .leaveToSweep: ends[.merged, default: []].append(straggler)
            case .wait: doubtful.append(straggler)
            case .expire:
                ends[.removed, default: []].append(straggler)
                expired.dead.append((found.row, state.now - PageReport.tokenLife))
            case .send(let isUrgent, let carriesAlert, let takesOver):
                if takesOver { takenOver.append(straggler.activity) }
                let attempts = facts.version == state.head.version ? facts.attempts : 0
                let pace = pace(found, isUrgent: isUrgent, state: state, app: app)
                let group = Group(
                    priority: pace.priority,
                    isUrgent: isUrgent,
                    isDowngraded: pace.isDowngraded,
                    carriesAlert: carriesAlert,
                    isResend: straggler.isHanded && facts.version == state.head.version
                )
                groups[group, default: []].append(Recipient(straggler: straggler, row: found.row, attempts: attempts))
            }
        }
        let match = state.key
        try await context.store.endStragglers(
            ends,
            expired,
            of: match,
            at: state.head.version,
            by: context.storeDeadline
        )
        if !takenOver.isEmpty {
            let taken = try await context.store.takeOver(takenOver, of: match, by: context.storeDeadline)
            let missed = Set(takenOver).subtracting(taken)
            doubtful += claimed.filter { missed.contains($0.activity) }
            groups = groups.mapValues { $0.filter { !missed.contains($0.straggler.activity) } }.filter {
                !$0.value.isEmpty
            }
        }
        if !doubtful.isEmpty { try await postpone(doubtful, for: StragglerRule.doubt) }
        return groups
    }

    /// The rules of the phone's shard hold for a push of its own too, but for the gap: it has not had the version.
    private func pace(
        _ found: StragglerRow,
        isUrgent: Bool,
        state: MatchState,
        app: AppState
    ) -> (priority: Int, isDowngraded: Bool) {
        guard isUrgent else { return (5, false) }
        let decision = Pacing.decide(
            state.head.isEnd ? .end : .key,
            record: found.pacing,
            limits: app.limits(for: found.cadence),
            now: state.now
        )
        guard case .send(let priority, let isDowngraded) = decision else { return (5, false) }
        return (priority, isDowngraded)
    }

    /// All groups at once, since their claims run out at once; what became of them is written one after the other, since they
    /// are counted in the same rows.
    private func send(
        _ groups: [Group: [Recipient]],
        state: MatchState,
        route: RouteKey,
        _ gate: OutageRule.Gate
    ) async throws(StoreError) {
        let outcome: Result<Void, StoreError> = await withTaskGroup(of: (Group, [Outcome], Duration)?.self) { tasks in
            for (group, recipients) in groups {
                tasks.addTask { await send(recipients, as: group, state: state) }
            }
            do throws(StoreError) {
                while let sent = await tasks.next() {
                    guard let (group, outcomes, took) = sent, let recipients = groups[group] else { continue }
                    let pause = try await context.outages.note(
                        outcomes,
                        of: route,
                        isWhole: false,
                        isProbe: gate == .probe
                    )
                    try await settle(recipients, outcomes, as: group, state: state, took: took, pause: pause)
                }
                return .success(())
            } catch {
                return .failure(error)
            }
        }
        try outcome.get()
    }

    private func send(
        _ recipients: [Recipient],
        as group: Group,
        state: MatchState
    ) async -> (Group, [Outcome], Duration)? {
        let composition = PushComposition(
            state,
            priority: group.priority,
            isUrgent: group.isUrgent,
            carriesAlert: group.carriesAlert
        )
        guard let composition else { return nil }
        let begin = ContinuousClock.now
        let batch = composition.batch(
            recipients.map(\.row),
            as: group.isResend ? "tokens" : "registered",
            deadline: begin + context.configuration.pushDeadline * 0.6
        )
        return (group, await context.pool.send(batch), .now - begin)
    }

    private func settle(
        _ recipients: [Recipient],
        _ outcomes: [Outcome],
        as group: Group,
        state: MatchState,
        took: Duration,
        pause: Duration?
    ) async throws(StoreError) {
        if let target = recipients.first?.straggler.target {
            context.lastAnswers.note(outcomes, of: target.answerKey)
        }
        var page = PageReport(recipients.map(\.row), outcomes, isDowngraded: group.isDowngraded)
        let failures = Dictionary(uniqueKeysWithValues: page.failures.map { ($0.row.number, $0.failure) })
        let removed = Set(page.result.dead.map(\.row.number))
        var report = StragglerReport(
            version: state.head.version,
            priority: group.priority,
            isDowngraded: group.isDowngraded,
            acceptedAt: state.acceptedAt,
            firstPushAt: state.now,
            lastPushAt: state.now + took
        )
        if group.carriesAlert { report.alertVersion = state.head.alertVersion }
        for recipient in recipients { report.rows[recipient.straggler.activity] = recipient.row }
        var stopped: [ClaimedStraggler] = []
        for (recipient, outcome) in zip(recipients, outcomes) {
            let straggler = recipient.straggler
            switch Disposition(outcome) {
            case .accepted:
                report.ends[.accepted, default: []].append(straggler)
                if state.head.isEnd { report.ended.append(straggler.activity) }
            case .removeToken:
                let end: StragglerEnd = removed.contains(recipient.row.number) ? .removed : .givenUp
                report.ends[end, default: []].append(straggler)
            case .setTokenAside: report.ends[.refused, default: []].append(straggler)
            case .checkChannel, .giveUp: report.ends[.givenUp, default: []].append(straggler)
            case .stopApp: stopped.append(straggler)
            case .retry:
                // An outage uses up nobody's attempts.
                guard let failure = failures[recipient.row.number],
                    pause != nil || recipient.attempts + 1 < RetryRule.attempts
                else {
                    report.ends[.givenUp, default: []].append(straggler)
                    continue
                }
                report.retries.append(retry(recipient, failure, as: group, pause: pause))
            }
        }
        report.result = page.result
        try await stopIfNeeded(&page, of: state)
        if try await context.store.finishStragglers(of: state.key, report, by: context.storeDeadline) {
            context.bell.stragglers.signal()
        }
        if !stopped.isEmpty { try await postpone(stopped, for: .seconds(60)) }
    }

    private func stopIfNeeded(_ page: inout PageReport, of state: MatchState) async throws(StoreError) {
        guard let app = state.app?.key else { return }
        if page.stop == nil, context.note(page, of: app) {
            page.stop = PageReport.massRefusal(in: app.environment)
        }
        guard let reason = page.stop else { return }
        context.forgetRefusals(of: app)
        try await context.stop(.tokens, of: app, because: reason)
    }

    private func retry(
        _ recipient: Recipient,
        _ failure: RetryRule.Failure,
        as group: Group,
        pause: Duration?
    ) -> (straggler: ClaimedStraggler, attempts: Int, carriesAlert: Bool, delay: Duration) {
        let attempts = recipient.attempts + (pause == nil ? 1 : 0)
        let own = RetryRule.delay(
            after: failure,
            attempt: attempts,
            isUrgent: group.isUrgent,
            jitter: RetryRule.jitter(of: recipient.straggler.activity.text, attempt: attempts)
        )
        let delay = failure.asksForMore(than: pause) ? own : pause ?? own
        return (recipient.straggler, attempts, group.carriesAlert, delay)
    }

    /// They are looked at again after a while, as they are.
    private func postpone(_ claimed: [ClaimedStraggler], for duration: Duration) async throws(StoreError) {
        guard let first = claimed.first else { return }
        try await context.store.postponeStragglers(claimed, of: first.match, for: duration, by: context.storeDeadline)
    }
}
