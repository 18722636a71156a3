internal import APNsProtocol
internal import EventLoop
internal import HTTP2

/// The pool's part on one loop: its lanes, and who waits to be let in. Every batch crosses to it once and back once.
actor PoolShard {
    private let loop: EventLoop
    let configuration: SenderPoolConfiguration
    private let providerTokens: any ProviderTokenSource
    private nonisolated let counters: ShardCounters
    private nonisolated let reporter: PoolReporter
    private let siblings: PoolShards
    private var lanes: [LaneKey: Lane] = [:]
    private var admission: Admission
    private var lastNumber = 0
    private var tasks: [Int: Task<Void, Never>] = [:]
    private var batches: [Int: (batch: PendingBatch, lane: Lane)] = [:]
    private var sweepTimer: TimerID?
    private var isClosing = false
    private var idleWaiters: [CheckedContinuation<Void, Never>] = []

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    init(
        loop: EventLoop,
        configuration: SenderPoolConfiguration,
        providerTokens: any ProviderTokenSource,
        counters: ShardCounters,
        reporter: PoolReporter,
        siblings: PoolShards
    ) {
        self.loop = loop
        self.configuration = configuration
        self.providerTokens = providerTokens
        self.counters = counters
        self.reporter = reporter
        self.siblings = siblings
        admission = Admission(
            limits: Admission.Limits(routine: configuration.queueLimit, urgentPerLane: configuration.urgentQueueLimit)
        )
    }

    // MARK: - Sending

    /// Sends a batch that its caller handed in at that moment.
    func send(_ batch: PushBatch, handedIn: ContinuousClock.Instant) async -> [Outcome] {
        lastNumber += 1
        let number = lastNumber
        let outcomes = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                begin(PendingBatch(batch, handedIn: handedIn, continuation: continuation), number: number)
            }
        } onCancel: {
            Task { await self.withdraw(number, .withdrawn) }
        }
        batches[number] = nil
        if batches.isEmpty {
            for waiter in idleWaiters { waiter.resume() }
            idleWaiters = []
        }
        return outcomes
    }

    private func begin(_ pending: PendingBatch, number: Int) {
        let batch = pending.batch
        let lane = lane(batch.lane)
        batches[number] = (pending, lane)
        // APNs would answer 413 to each of them.
        if let limit = batch.recipients.first?.route.payloadLimitBytes, batch.payload.count > limit {
            return lane.refuseLarge(pending)
        }
        if isClosing || Task.isCancelled { return lane.refuseOutside(pending, isClosing ? .closing : .withdrawn) }
        guard batch.deadline > .now else { return lane.refuseOutside(pending, .deadline) }
        pending.deadlineTimer = loop.schedule(at: batch.deadline) { self.withdraw(number, .deadline) }
        if admission.enter(number, count: batch.recipients.count, lane: batch.lane, rank: pending.rank) {
            lane.enqueue(pending)
        } else {
            counters.outside.set(admission.outside)
        }
    }

    /// Ends what waits of a batch, inside or outside; what is under way may finish.
    private func withdraw(_ number: Int, _ cause: NotProcessedCause) {
        // It may have ended already, and its caller not have woken yet.
        guard let (batch, lane) = batches[number], batch.remaining > 0 else { return }
        guard admission.remove(number) else { return lane.withdraw(batch, cause) }
        counters.outside.set(admission.outside)
        lane.refuseOutside(batch, cause)
        letIn()
    }

    /// Lets those in who wait outside and for whom there is room.
    private func letIn() {
        while let number = admission.next() {
            guard let (batch, lane) = batches[number] else { continue }
            lane.enqueue(batch)
        }
        counters.outside.set(admission.outside)
    }

    // MARK: - Lanes

    private func lane(_ key: LaneKey) -> Lane {
        if let lane = lanes[key] { return lane }
        let lane = Lane(
            key: key,
            loop: loop,
            configuration: configuration,
            counters: counters,
            hooks: LaneHooks(
                connect: { self.connect(key) },
                fetchToken: { self.fetchToken(key, refused: $0) },
                connectionFailed: { self.report($0, key) },
                strangeAnswer: { self.complain(of: $0, key) },
                clockIsWrong: { self.complain(of: $0, key) },
                starves: { self.askForConnection(key) },
                queueChanged: {
                    self.admission.update(key, inside: $0)
                    self.letIn()
                }
            )
        )
        lanes[key] = lane
        scheduleSweep()
        return lane
    }

    private func connect(_ key: LaneKey) {
        let endpoint = configuration.endpoints[key.environment, key.role]
        let began = ContinuousClock.now
        run { shard in
            do throws(HTTP2Error) {
                let descriptor = try await Connector.connect(
                    host: endpoint.host,
                    port: endpoint.port,
                    on: shard.loop,
                    by: .now + shard.configuration.connectTimeout,
                    lookup: shard.configuration.resolve
                )
                shard.adopt(descriptor, key, began: began)
            } catch {
                shard.lanes[key]?.connectFailed(error, began: began)
            }
        }
    }

    private func report(_ reason: String, _ key: LaneKey) {
        let endpoint = configuration.endpoints[key.environment, key.role]
        reporter.say("connection to \(endpoint.host):\(endpoint.port) failed: \(reason)")
    }

    private func complain(of clock: String, _ key: LaneKey) {
        guard reporter.say(clock, about: "clock of \(key.credential)", every: .seconds(3600)) else { return }
        log(clock: clock, key)
    }

    /// A lane gets no connection: another one of the same credential and endpoint, on whichever loop, gives one up.
    private func askForConnection(_ key: LaneKey) {
        let siblings = siblings.all
        run { shard in
            for evenAtWork in [false, true] {
                for sibling in siblings where await sibling.giveWay(to: key, evenAtWork: evenAtWork) {
                    shard.lanes[key]?.mayOpen()
                    return
                }
            }
        }
    }

    private func giveWay(to key: LaneKey, evenAtWork: Bool) -> Bool {
        let endpoint = configuration.endpoints[key.environment, key.role]
        return lanes.values.contains { lane in
            lane.key.credential == key.credential && lane.key.environment == key.environment
                && configuration.endpoints[lane.key.environment, lane.key.role] == endpoint
                && lane.giveWay(evenAtWork: evenAtWork)
        }
    }

    private func complain(of answer: StrangeAnswer, _ key: LaneKey) {
        let endpoint = configuration.endpoints[key.environment, key.role]
        let place = "\(endpoint.host):\(endpoint.port)"
        guard reporter.say("\(place) \(answer.sentence)", about: "\(place) \(answer.subject)") else { return }
        log(answer: answer.sentence, of: place)
    }

    private func adopt(_ descriptor: Int32, _ key: LaneKey, began: ContinuousClock.Instant) {
        guard let lane = lanes[key] else { return Connector.discard(descriptor) }
        lane.adopt(descriptor, began: began)
    }

    private func fetchToken(_ key: LaneKey, refused: (token: String, as: ProviderTokenRefusal)?) {
        let source = providerTokens
        run { shard in
            if let refused { await source.refused(refused.token, for: key.credential, as: refused.as) }
            shard.log(refused?.as, key)
            let result: Result<String, ProviderTokenError>
            do throws(ProviderTokenError) {
                result = .success(try await source.token(for: key.credential))
            } catch {
                result = .failure(error)
                shard.log(error, key)
            }
            shard.lanes[key]?.tokenArrived(result)
        }
    }

    /// A task that the shard knows of until it ends.
    private func run(_ body: @escaping @Sendable (isolated PoolShard) async -> Void) {
        lastNumber += 1
        let number = lastNumber
        tasks[number] = Task {
            await body(self)
            self.tasks[number] = nil
        }
    }

    /// Looks after idle and old connections every few seconds, as long as there are lanes.
    private func scheduleSweep() {
        guard sweepTimer == nil, !isClosing else { return }
        let interval = min(Duration.seconds(5), configuration.shrinkAfter)
        sweepTimer = loop.schedule(at: .now + interval) {
            self.sweepTimer = nil
            let now = ContinuousClock.now
            for (key, lane) in self.lanes {
                lane.sweep(now: now)
                if lane.isForgotten(now: now) { self.lanes[key] = nil }
            }
            if !self.lanes.isEmpty { self.scheduleSweep() }
        }
    }

    // MARK: - The end

    /// Lets nobody in any more, waits until `deadline` for what is inside, and closes.
    func drain(by deadline: ContinuousClock.Instant) async {
        isClosing = true
        for number in batches.keys.sorted() { refuseOutside(number) }
        let timer = loop.schedule(at: deadline) { self.abort() }
        await withCheckedContinuation { continuation in
            if batches.isEmpty { return continuation.resume() }
            idleWaiters.append(continuation)
        }
        loop.cancel(timer)
        if let sweepTimer { loop.cancel(sweepTimer) }
        sweepTimer = nil
        for lane in lanes.values { lane.abort() }
        for task in tasks.values { task.cancel() }
        let last = Array(tasks.values)
        for task in last { await task.value }
        lanes = [:]
    }

    private func abort() {
        for lane in lanes.values { lane.abort() }
    }

    private func refuseOutside(_ number: Int) {
        guard let (batch, lane) = batches[number], admission.remove(number) else { return }
        lane.refuseOutside(batch, .closing)
        counters.outside.set(admission.outside)
    }

    /// Ends what waits in one lane, whose credential is no more; what is under way may finish.
    func cancel(_ key: LaneKey) {
        for (number, entry) in batches where entry.lane.key == key { refuseOutside(number) }
        lanes[key]?.close()
        lanes[key] = nil
    }
}
