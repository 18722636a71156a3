internal import APNsProtocol
internal import EventLoop
internal import HTTP2

/// What a lane asks of its shard.
struct LaneHooks {
    /// Resolve, connect, and hand the descriptor to ``Lane/adopt(_:began:)`` or the failure to
    /// ``Lane/connectFailed(_:began:)``.
    let connect: () -> Void
    /// Ask the source, and hand the answer to ``Lane/tokenArrived(_:)``; tell it first which token was refused, and how.
    let fetchToken: (_ refused: (token: String, as: ProviderTokenRefusal)?) -> Void
    /// Tell people that a connection could not be opened, or broke, for this reason.
    let connectionFailed: (_ reason: String) -> Void
    /// Tell people of an answer that no APNs gives: "answered with status 302 …".
    let strangeAnswer: (StrangeAnswer) -> Void
    /// Tell people that a clock is wrong.
    let clockIsWrong: (_ sentence: String) -> Void
    /// Ask other lanes for a connection, and tell ``Lane/mayOpen()`` when one has given way.
    let starves: () -> Void
    /// What waits has changed: who waits outside may come in.
    let queueChanged: (PushRankCounts) -> Void
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
    /// Connections whose socket is being opened, and since when the youngest is.
    var connecting = 0
    var connectingSince = ContinuousClock.now
    var growth: ConnectionGrowth
    var starvation: Starvation
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

    /// Pushes that a lane submits before its loop looks at others again: an urgent one never waits for much more.
    private static let pushesPerTurn = 256

    private var leftThisTurn = Lane.pushesPerTurn
    private var isTurnNoted = false
    private var writer: PushWriter
    /// Where the next connection is looked for.
    var turn = 0
    /// What was last told of the queue.
    private var toldCounts = PushRankCounts()
    /// Urgent batches of which something was submitted in this turn.
    private var urgentUnwritten: [(batch: PendingBatch, pushes: Int)] = []
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
        starvation = Starvation(patience: configuration.starvationPatience)
        growth = ConnectionGrowth(
            limit: configuration.connectionsPerLane,
            rest: ReconnectRest(first: configuration.firstReconnect, most: configuration.longestReconnect)
        )
    }

    // MARK: - The queue

    func enqueue(_ batch: PendingBatch) {
        queue.append(batch)
        lastUsed = .now
        tellCounts()
        dispatch()
    }

    /// Ends what still waits of a batch: its deadline has come, or its caller has gone.
    func withdraw(_ batch: PendingBatch, _ cause: NotProcessedCause) {
        let indices = queue.withdraw(batch)
        for index in indices { giveUp(Push(batch: batch, index: index), cause) }
        let held = heldForToken.filter { $0.batch === batch }
        heldForToken.removeAll { $0.batch === batch }
        for push in held { refuse(push, .providerTokenExpired, Self.expiredToken) }
        tellCounts()
    }

    /// Ends a batch that never came in.
    func refuseOutside(_ batch: PendingBatch, _ cause: NotProcessedCause) {
        for index in batch.batch.recipients.indices { giveUp(Push(batch: batch, index: index), cause) }
    }

    /// Ends a batch whose payload no route takes.
    func refuseLarge(_ batch: PendingBatch) {
        for index in batch.batch.recipients.indices {
            refuse(Push(batch: batch, index: index), .tooLarge, "PayloadTooLarge")
        }
    }

    /// Sends again what APNs has not taken up, within the budget.
    func resend(_ push: Push, _ cause: ResendCause, orElse answer: (outcome: Outcome, reason: String)? = nil) {
        let refusal: NotProcessedCause? =
            if push.attempts > configuration.resendLimit { .resendLimit } else if push.batch.batch.deadline <= .now {
                .deadline
            } else if isClosing { .closing } else { nil }
        if let refusal {
            if let answer { return refuse(push, answer.outcome, answer.reason) }
            return giveUp(push, refusal)
        }
        counters.resent.add(1, cause)
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
        // Submitting can retire a connection, and letting batches in enqueues them; both call back here.
        guard !isDispatching else { return scheduleDispatch() }
        guard !queue.isEmpty else { return tellCounts() }
        isDispatching = true
        defer { isDispatching = false }
        guard let token else { return askForToken(refused: nil) }
        refreshToken()
        let now = ContinuousClock.now
        noteTurn()
        for rank in PushRank.allCases where queue.counts[rank] > 0 {
            guard send(rank, token: token, now: now) else { break }
        }
        tellCounts()
    }

    /// Sends what waits of one rank.
    ///
    /// - Returns: Whether those behind it may go.
    private func send(_ rank: PushRank, token: String, now: ContinuousClock.Instant) -> Bool {
        while let bodyBytes = queue.nextBodyBytes(rank) {
            guard rank == .channel || leftThisTurn > 0 else {
                scheduleDispatch()
                return false
            }
            guard let entry = connection(forBody: bodyBytes, rank, now: now) else { return rank == .once }
            sendRun(rank, on: entry, token: token, now: now)
        }
        return true
    }

    /// What was submitted in one turn is forgotten at its end.
    private func noteTurn() {
        guard !isTurnNoted else { return }
        isTurnNoted = true
        loop.atEndOfTurn { [weak self] in
            guard let self else { return }
            isTurnNoted = false
            leftThisTurn = Self.pushesPerTurn
        }
    }

    /// A run of pushes of one rank on one connection, so that its frames lie together.
    private func sendRun(_ rank: PushRank, on entry: LaneConnection, token: String, now: ContinuousClock.Instant) {
        guard entry.tokens.mayCarry(generation: tokenGeneration, now: now) else { return entry.retire(.providerToken) }
        let reserve = reserve(from: rank)
        // Of the batch that is being taken from.
        var current: PendingBatch?
        var count = 0
        defer { if let current { submitted(current, count, on: entry, now: now) } }
        for _ in 0..<32 {
            guard let bodyBytes = queue.nextBodyBytes(rank), rank != .once || mayTakeOnce(entry, now: now),
                entry.connection.canSubmit(bodyBytes: bodyBytes, leaving: reserve), var push = queue.popFirst(rank)
            else { break }
            push.attempts += 1
            let batch = push.batch
            if batch !== current {
                if let current { submitted(current, count, on: entry, now: now) }
                current = batch
                count = 0
            }
            guard submit(push, on: entry, token: token, now: now) else {
                push.attempts -= 1
                queue.giveBack(push)
                break
            }
            count += 1
            leftThisTurn -= 1
        }
        if rank != .routine { entry.connection.flushSoon() }
    }

    private func submit(_ push: Push, on entry: LaneConnection, token: String, now: ContinuousClock.Instant) -> Bool {
        let batch = push.batch
        let recipient = batch.batch.recipients[push.index]
        if batch.templateGeneration != tokenGeneration || batch.template == nil {
            batch.template = writer.template(for: batch.batch, route: recipient.route, providerToken: token)
            batch.templateGeneration = tokenGeneration
        }
        guard let template = batch.template else { return false }
        do throws(HTTP2Error) {
            let slot = try entry.submitting { () throws(HTTP2Error) in
                try writer.submit(
                    recipient,
                    template: template,
                    body: batch.body,
                    on: entry.connection,
                    deadline: batch.batch.deadline,
                    witness: batch.batch.witness.map { ($0, push.index) }
                )
            }
            inFlight += 1
            counters.inFlight.add(1)
            entry.begin(
                LaneConnection.Flight(push: push, tokenGeneration: tokenGeneration, writtenAt: now),
                slot: slot
            )
            return true
        } catch {
            return false
        }
    }

    /// Notes how long pushes have waited; of urgent ones, until the kernel has their bytes.
    private func submitted(
        _ batch: PendingBatch,
        _ count: Int,
        on entry: LaneConnection,
        now: ContinuousClock.Instant
    ) {
        guard count > 0 else { return }
        entry.health.wrote(now: now, deadline: batch.batch.deadline)
        if let doubtful = entry.health.doubtfulFrom { wake(at: doubtful) }
        guard batch.rank != .routine else {
            return counters.queueTimes.record(batch.handedIn.duration(to: now), times: count)
        }
        if urgentUnwritten.isEmpty {
            // Behind the connection, which has asked for the turn's end already, when the request was submitted.
            loop.atEndOfTurn { [weak self] in
                guard let self else { return }
                let now = ContinuousClock.now
                for (batch, pushes) in urgentUnwritten {
                    counters.urgentQueueTimes.record(batch.handedIn.duration(to: now), times: pushes)
                }
                urgentUnwritten.removeAll(keepingCapacity: true)
            }
        }
        urgentUnwritten.append((batch, count))
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
            lookAfter()
        }
    }

    private func cancelTimer() {
        if let timer { loop.cancel(timer) }
        timer = nil
        timerInstant = nil
    }

    // MARK: - The end

    /// Ends everything that waits, and retires the connections: open requests may finish.
    func close() {
        isClosing = true
        for push in queue.withdrawAll() { giveUp(push, .closing) }
        for push in heldForToken { refuse(push, .providerTokenExpired, Self.expiredToken) }
        heldForToken = []
        cancelTimer()
        for entry in connections { entry.retire(.closing) }
        tellCounts()
    }

    /// Closes every connection at once; open requests end as unknown.
    func abort() {
        close()
        for entry in connections { entry.connection.close() }
    }

    /// Brings the counters and who waits outside up to date with the queue.
    func tellCounts() {
        let counts = queue.counts
        guard counts != toldCounts else { return }
        let routine = counts[.routine] - toldCounts[.routine]
        counters.waitingRoutine.add(routine)
        counters.waitingUrgent.add(counts.total - toldCounts.total - routine)
        toldCounts = counts
        hooks.queueChanged(counts)
    }
}
