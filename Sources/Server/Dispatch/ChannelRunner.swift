internal import APNs
internal import APNsProtocol
internal import Core
internal import Store

/// Brings one channel to its match's version: one push, paced and urgent by the same rules as a sweep of no tokens.
struct ChannelRunner {
    private let context: DispatchContext
    private var record: TargetRecord
    /// Match and channel as they were read last; nil: to be read.
    private var read: (state: MatchState, channel: ChannelRecord)?
    private var readAt: ContinuousClock.Instant

    /// - Parameters:
    ///   - record: The claimed target.
    ///   - read: Match and channel, as the claim found them.
    ///   - readAt: When the claim was asked for.
    ///   - context: What all runners share.
    init(
        _ record: TargetRecord,
        read: (state: MatchState, channel: ChannelRecord)?,
        at readAt: ContinuousClock.Instant,
        context: DispatchContext
    ) {
        self.context = context
        self.record = record
        self.read = read
        self.readAt = readAt
    }

    /// Runs until the target is released, or its lease is lost.
    ///
    /// - Throws: ``StoreError``: the target stays leased, and is due again when that is over.
    mutating func run() async throws(StoreError) {
        while try await attempt() {}
    }

    /// - Returns: Whether there is a newer version already, so that it is tried again at once.
    private mutating func attempt() async throws(StoreError) -> Bool {
        if read == nil {
            readAt = .now
            read = try await context.store.channelState(of: record.key, by: context.storeDeadline)
        }
        let read = self.read
        self.read = nil
        guard let (state, channel) = read, let id = channel.channel, channel.state == .open, let app = state.app,
            !state.isBlocked(for: .channel)
        else {
            try await release(after: nil, seen: read?.state.head.version ?? 0)
            return false
        }
        let page = Sweep.Page(range: record.sweep.nextRange, lastRow: nil, isFull: false, highestRow: 0)
        let limits = app.limits(for: record.key.cadence)
        switch record.sweep.plan(page: page, head: state.head, limits: limits, now: state.now) {
        case .rest:
            try await release(after: nil, seen: state.head.version)
            return false
        case .wait(let until):
            record.counts.hold(since: state.now)
            try await release(after: until - state.now, seen: state.head.version)
            return false
        case .send(let plan):
            guard context.leases.isHeld(record) else { return false }
            let stamped: MatchState
            switch try await context.stamped(state) {
            case .stamped(let state): stamped = state
            case .overtaken: return true
            case .wait(let duration):
                try await release(after: duration, seen: state.head.version)
                return false
            }
            let composition = PushComposition(
                stamped,
                priority: plan.priority,
                isUrgent: plan.isUrgent,
                carriesAlert: plan.carriesAlert
            )
            guard let composition else { return false }
            let route = RouteKey(app: app.key, kind: .channel)
            let gate = try await context.outages.gate(
                route,
                target: record.key,
                keyVersion: plan.isUrgent ? state.head.urgentVersion : 0
            )
            if case .wait(let duration) = gate {
                // What waits for an outage is brought forward when it is over: that is what the mark is for.
                record.backoff = max(1, record.backoff)
                try await release(after: duration, seen: state.head.version)
                return false
            }
            let batch = composition.batch(
                id,
                policy: channel.storagePolicy,
                deadline: .now + context.configuration.pushDeadline
            )
            let sentAt = stamped.now + (.now - readAt)
            let outcome = await context.pool.send(batch).first ?? .unknown("no outcome")
            record.counts.firstPushAt = record.counts.firstPushAt ?? sentAt
            record.counts.lastPushAt = stamped.now + (.now - readAt)
            context.lastAnswers.note([outcome], of: record.key.answerKey)
            let pause = try await context.outages.note([outcome], of: route, isWhole: true, isProbe: gate == .probe)
            try await settle(outcome, plan: plan, state: stamped, channel: channel, pause: pause)
            return false
        }
    }

    private mutating func settle(
        _ outcome: Outcome,
        plan: Sweep.Plan,
        state: MatchState,
        channel: ChannelRecord,
        pause: Duration?
    ) async throws(StoreError) {
        switch Disposition(outcome) {
        case .accepted:
            record.counts.accepted += 1
            try await finish(plan, state)
        case .retry(let failure):
            record.backoff += 1
            if failure == .unknown { record.counts.resent += 1 }
            let own = delay(after: failure, isUrgent: plan.isUrgent)
            // An outage is waited out by its probes; what APNs asks of this channel binds it alone.
            let wait = failure.asksForMore(than: pause) ? own : pause ?? own
            try await release(after: wait, seen: state.head.version)
        case .stopApp(let reason):
            guard let app = state.app else { return }
            try await context.stop(.channel, of: app.key, because: reason)
            try await release(after: nil, seen: state.head.version)
        case .checkChannel(let reason):
            try await check(channel, reason: reason, plan: plan, state: state)
        case .removeToken, .setTokenAside, .giveUp:
            record.counts.givenUp += 1
            try await finish(plan, state)
        }
    }

    /// APNs says that the channel is gone: a read confirms it, then it is replaced, or the version is undeliverable.
    private mutating func check(
        _ channel: ChannelRecord,
        reason: String,
        plan: Sweep.Plan,
        state: MatchState
    ) async throws(StoreError) {
        guard let id = channel.channel, let app = state.app else { return }
        let answer = await context.channels.answer(
            to: .read(channel.bundle, id),
            environment: channel.environment,
            credential: app.credential
        )
        switch answer {
        case .failed(.channelGone):
            if context.noteGoneChannel(of: app.key) {
                try await context.stop(
                    .channel,
                    of: app.key,
                    because:
                        "\(reason): many channels are gone at once, as after switching the Broadcast capability off: "
                        + "switch it on for the App ID, then resume the app; new channels are made"
                )
            }
            if !state.head.isEnd, try await context.store.replaceChannel(channel, by: context.storeDeadline) {
                context.bell.housekeeping.signal()
                try await release(after: nil, seen: state.head.version)
                return
            }
            record.counts.givenUp += 1
            try await context.store.channelFailed(
                channel,
                retryAfter: nil,
                error: state.head.isEnd
                    ? "\(reason): the channel is gone at APNs; the end cannot be delivered on it"
                    : "\(reason): the channel is gone at APNs, again within an hour of being replaced; an event after that "
                        + "hour has another made",
                by: context.storeDeadline
            )
            try await finish(plan, state)
        case .created, .found, .deleted, .listed, .limitReached, .failed:
            record.backoff += 1
            let delay = delay(after: .later(after: nil), isUrgent: plan.isUrgent)
            try await release(after: delay, seen: state.head.version)
        }
    }

    /// Spread by channel: those that an outage has stopped together do not come back together.
    private func delay(after failure: RetryRule.Failure, isUrgent: Bool) -> Duration {
        RetryRule.delay(
            after: failure,
            attempt: record.backoff,
            isUrgent: isUrgent,
            jitter: RetryRule.jitter(of: record.key.text, attempt: record.backoff)
        )
    }

    private mutating func finish(_ plan: Sweep.Plan, _ state: MatchState) async throws(StoreError) {
        let from = record.sweep.reached + 1
        record.sweep = plan.after
        // What failed of older versions does not count against the next one.
        record.backoff = 0
        record.counts.wanted += 1
        record.counts.downgraded += plan.isDowngraded ? 1 : 0
        let turn = TurnRecord(
            from: from,
            to: plan.after.reached,
            priority: plan.priority,
            acceptedAt: state.acceptedAt,
            counts: record.counts
        )
        // A crash of the database may take this back, and the push is sent twice: of no harm without an alert.
        context.times.note(turn, of: .channel, isUrgent: plan.isUrgent)
        _ = try await context.store.finishTurn(
            record,
            PageResult(),
            turn: turn,
            gap: state.app?.limits(for: record.key.cadence).gap ?? .zero,
            isDurable: plan.carriesAlert,
            by: context.storeDeadline
        )
    }

    private func release(after delay: Duration?, seen: Int64) async throws(StoreError) {
        try await context.store.release(record, after: delay, seen: seen, by: context.storeDeadline)
    }
}
