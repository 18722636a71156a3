internal import APNsProtocol
internal import EventLoop
internal import HTTP2

/// What a lane asks of its shard.
struct LaneHooks {
    /// Resolve, connect, and hand the descriptor to ``Lane/adopt(_:)`` or the failure to ``Lane/connectFailed()``.
    let connect: () -> Void
    /// Ask the source, and hand the answer to ``Lane/tokenArrived(_:)``; tell it first which token was refused, and how.
    let fetchToken: (_ refused: (token: String, as: ProviderTokenRefusal)?) -> Void
    /// A connection could not be opened, or broke, for this reason.
    let connectionFailed: (_ reason: String) -> Void
    /// Something has left the queue: who waits outside may come in.
    let queueShrank: () -> Void
}

/// The queue and the connections of one lane on one loop.
///
/// A push leaves the queue only for a stream that is free and a window that has room; what waits is visible here, not
/// inside a connection. Lane+Outcomes.swift says what becomes of a request's end.
final class Lane {
    let key: LaneKey
    let loop: EventLoop
    let configuration: SenderPoolConfiguration
    let counters: ShardCounters
    let hooks: LaneHooks

    var queue = PushQueue()
    var connections: [LaneConnection] = []
    /// Connections whose socket is being opened.
    var connecting = 0
    var growth: ConnectionGrowth
    /// The provider token in use, and how often it has changed.
    var token: String?
    var tokenGeneration = 0
    var tokenAskedAt: ContinuousClock.Instant?
    var isAskingForToken = false
    /// A refusal that came while the source was being asked.
    var refusalToReport: (token: String, as: ProviderTokenRefusal)?
    /// Pushes refused for a token that is being looked into.
    var heldForToken: [Push] = []
    var inFlight = 0
    var lastUsed = ContinuousClock.now

    private var writer: PushWriter
    private var turn = 0
    private var isDispatchScheduled = false
    private var isDispatching = false
    private var timer: TimerID?
    private var timerInstant: ContinuousClock.Instant?
    /// No new connections any more.
    private(set) var isClosing = false

    init(
        key: LaneKey,
        loop: EventLoop,
        configuration: SenderPoolConfiguration,
        counters: ShardCounters,
        hooks: LaneHooks
    ) {
        self.key = key
        self.loop = loop
        self.configuration = configuration
        self.counters = counters
        self.hooks = hooks
        writer = PushWriter(
            authority: configuration.endpoints[key.environment, key.role].authority,
            scheme: configuration.tls == nil ? "http" : "https"
        )
        growth = ConnectionGrowth(
            limit: configuration.connectionsPerLane,
            backOff: BackOff(first: configuration.firstReconnect, most: configuration.longestReconnect)
        )
    }

    // MARK: - The queue

    func enqueue(_ batch: PendingBatch) {
        counters.waiting.add(batch.remaining)
        queue.append(batch)
        lastUsed = .now
        dispatch()
    }

    /// Ends what still waits of a batch: its deadline has come, or its caller has gone.
    func withdraw(_ batch: PendingBatch) {
        let indices = queue.withdraw(batch)
        counters.waiting.add(-indices.count)
        for index in indices { finish(Push(batch: batch, index: index), .notProcessed) }
        let held = heldForToken.filter { $0.batch === batch }
        heldForToken.removeAll { $0.batch === batch }
        for push in held { finish(push, .providerTokenExpired) }
        if !indices.isEmpty { hooks.queueShrank() }
    }

    /// Sends again what APNs has not taken up, within the budget.
    func resend(_ push: Push, orElse outcome: Outcome) {
        guard push.attempts <= configuration.resendLimit, push.batch.batch.deadline > .now, !isClosing else {
            return finish(push, outcome)
        }
        counters.resent.add(1)
        counters.waiting.add(1)
        queue.giveBack(push)
        scheduleDispatch()
    }

    /// At the end of the turn: a GOAWAY gives back many pushes at once.
    func scheduleDispatch() {
        guard !isDispatchScheduled else { return }
        isDispatchScheduled = true
        loop.atEndOfTurn { [weak self] in
            guard let self else { return }
            isDispatchScheduled = false
            dispatch()
        }
    }

    func dispatch() {
        // Submitting can retire a connection, which calls back here.
        guard !queue.isEmpty, !isDispatching else { return }
        isDispatching = true
        defer { isDispatching = false }
        guard let token else { return askForToken(refused: nil) }
        refreshToken()
        let before = queue.count
        let now = ContinuousClock.now
        while let bodyBytes = queue.nextBodyBytes, let entry = nextConnection(bodyBytes: bodyBytes, now: now) {
            sendRun(on: entry, token: token, now: now)
        }
        if !queue.isEmpty { grow(now: now) }
        counters.inFlight.set(inFlight)
        if queue.count < before {
            counters.waiting.add(queue.count - before)
            hooks.queueShrank()
        }
    }

    /// A run of pushes on one connection, so that its frames lie together.
    private func sendRun(on entry: LaneConnection, token: String, now: ContinuousClock.Instant) {
        guard entry.tokens.mayCarry(generation: tokenGeneration, now: now) else { return entry.connection.retire() }
        for _ in 0..<32 {
            guard let bodyBytes = queue.nextBodyBytes, entry.connection.canSubmit(bodyBytes: bodyBytes),
                var push = queue.popFirst()
            else { return }
            push.attempts += 1
            let batch = push.batch
            let recipient = batch.batch.recipients[push.index]
            if batch.templateGeneration != tokenGeneration || batch.template == nil {
                batch.template = writer.template(for: batch.batch, route: recipient.route, providerToken: token)
                batch.templateGeneration = tokenGeneration
            }
            guard let template = batch.template else { return }
            do throws(HTTP2Error) {
                let slot = try writer.submit(
                    recipient,
                    template: template,
                    body: batch.body,
                    on: entry.connection,
                    deadline: batch.batch.deadline
                )
                inFlight += 1
                entry.begin(push, tokenGeneration: tokenGeneration, slot: slot)
            } catch {
                queue.giveBack(push)
                return
            }
        }
    }

    /// The next connection in turn with room; one whose PING is unanswered only when there is no other.
    private func nextConnection(bodyBytes: Int, now: ContinuousClock.Instant) -> LaneConnection? {
        var doubtful: LaneConnection?
        for offset in 0..<connections.count {
            let entry = connections[(turn + offset) % connections.count]
            guard entry.connection.canSubmit(bodyBytes: bodyBytes) else { continue }
            if let pausedUntil = entry.pausedUntil {
                guard now >= pausedUntil else {
                    wake(at: pausedUntil)
                    continue
                }
                entry.pausedUntil = nil
            }
            if entry.connection.isInDoubt {
                doubtful = entry
                continue
            }
            turn = (turn + offset + 1) % connections.count
            return entry
        }
        return doubtful
    }

    /// Dispatches again at `instant`, or before it if something else has asked for that.
    func wake(at instant: ContinuousClock.Instant) {
        if let timerInstant, timerInstant <= instant { return }
        cancelTimer()
        timerInstant = instant
        timer = loop.schedule(at: instant) { [weak self] in
            guard let self else { return }
            timer = nil
            timerInstant = nil
            dispatch()
        }
    }

    private func cancelTimer() {
        if let timer { loop.cancel(timer) }
        timer = nil
        timerInstant = nil
    }

    // MARK: - Ends

    /// Gives a push its one outcome.
    func finish(_ push: Push, _ outcome: Outcome) {
        switch outcome {
        case .accepted: counters.accepted.add(1)
        case .unknown: counters.unknown.add(1)
        case .notProcessed: counters.notProcessed.add(1)
        default: counters.other.add(1)
        }
        counters.latencies.record(push.batch.batch.due.duration(to: .now))
        guard push.batch.finish(push.index, outcome) else { return }
        if let timer = push.batch.deadlineTimer { loop.cancel(timer) }
        push.batch.complete()
    }

    /// Ends everything that waits, and retires the connections: open requests may finish.
    func close() {
        isClosing = true
        for push in queue.withdrawAll() {
            counters.waiting.add(-1)
            finish(push, .notProcessed)
        }
        for push in heldForToken { finish(push, .providerTokenExpired) }
        heldForToken = []
        cancelTimer()
        for entry in connections { entry.connection.retire() }
    }

    /// Closes every connection at once; open requests end as unknown.
    func abort() {
        close()
        for entry in connections { entry.connection.close() }
    }
}
