internal import APNsProtocol
internal import EventLoop
internal import HTTP2

/// The pool's part on one loop: its lanes, and who waits to be let in. Every batch crosses to it once and back once.
actor PoolShard {
    private struct Waiting {
        let number: Int
        let count: Int
        let continuation: CheckedContinuation<Bool, Never>
    }

    private let loop: EventLoop
    private let configuration: SenderPoolConfiguration
    private let providerTokens: any ProviderTokenSource
    private nonisolated let counters: ShardCounters
    private var lanes: [LaneKey: Lane] = [:]
    private var urgentOutside = Fifo<Waiting>()
    private var routineOutside = Fifo<Waiting>()
    /// Pushes of batches that were let in and have not come yet.
    private var coming = 0
    private var lastNumber = 0
    private var tasks: [Int: Task<Void, Never>] = [:]
    private var batches: [Int: (batch: PendingBatch, lane: Lane)] = [:]
    private var sweepTimer: TimerID?
    /// When each sentence about failed connections was last reported; few, since they name endpoints and reasons.
    private var reported: [String: ContinuousClock.Instant] = [:]
    private var isClosing = false
    private var idleWaiters: [CheckedContinuation<Void, Never>] = []

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    init(
        loop: EventLoop,
        configuration: SenderPoolConfiguration,
        providerTokens: any ProviderTokenSource,
        counters: ShardCounters
    ) {
        self.loop = loop
        self.configuration = configuration
        self.providerTokens = providerTokens
        self.counters = counters
    }

    // MARK: - Sending

    func send(_ batch: PushBatch) async -> [Outcome] {
        lastNumber += 1
        let number = lastNumber
        guard await isLetIn(batch, number: number) else {
            return Array(repeating: .notProcessed, count: batch.recipients.count)
        }
        let outcomes = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                begin(PendingBatch(batch, continuation: continuation), number: number)
            }
        } onCancel: {
            Task { await self.withdraw(number) }
        }
        batches[number] = nil
        if batches.isEmpty {
            for waiter in idleWaiters { waiter.resume() }
            idleWaiters = []
        }
        return outcomes
    }

    private func begin(_ pending: PendingBatch, number: Int) {
        coming -= pending.batch.recipients.count
        let lane = lane(pending.batch.lane)
        batches[number] = (pending, lane)
        pending.deadlineTimer = loop.schedule(at: pending.batch.deadline) { lane.withdraw(pending) }
        lane.enqueue(pending)
        if isClosing || Task.isCancelled { lane.withdraw(pending) }
    }

    private func withdraw(_ number: Int) {
        guard let (batch, lane) = batches[number] else { return refuseOutside(number) }
        lane.withdraw(batch)
    }

    // MARK: - Back-pressure

    /// Waits while the queue is at its limit; urgent batches are let in first.
    ///
    /// - Returns: Whether the batch may come in: not after its deadline, nor once the pool closes.
    private func isLetIn(_ batch: PushBatch, number: Int) async -> Bool {
        if isClosing { return false }
        if hasRoom(batch.recipients.count), urgentOutside.isEmpty, routineOutside.isEmpty {
            coming += batch.recipients.count
            return true
        }
        let timer = loop.schedule(at: batch.deadline) { self.refuseOutside(number) }
        defer { loop.cancel(timer) }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let waiting = Waiting(number: number, count: batch.recipients.count, continuation: continuation)
                switch batch.urgency {
                case .urgent: urgentOutside.append(waiting)
                case .routine: routineOutside.append(waiting)
                }
                letIn()
            }
        } onCancel: {
            Task { await self.refuseOutside(number) }
        }
    }

    private func hasRoom(_ count: Int) -> Bool {
        let waiting = counters.waiting.value + coming
        return waiting == 0 || waiting + count <= configuration.queueLimit
    }

    private func letIn() {
        while let first = urgentOutside.first ?? routineOutside.first, hasRoom(first.count) {
            _ = urgentOutside.isEmpty ? routineOutside.popFirst() : urgentOutside.popFirst()
            coming += first.count
            first.continuation.resume(returning: true)
        }
    }

    private func refuseOutside(_ number: Int) {
        let refused =
            urgentOutside.removeAll { $0.number == number } + routineOutside.removeAll { $0.number == number }
        for waiting in refused { waiting.continuation.resume(returning: false) }
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
                queueShrank: { self.letIn() }
            )
        )
        lanes[key] = lane
        scheduleSweep()
        return lane
    }

    private func connect(_ key: LaneKey) {
        let endpoint = configuration.endpoints[key.environment, key.role]
        run { shard in
            do throws(HTTP2Error) {
                let descriptor = try await Connector.connect(
                    host: endpoint.host,
                    port: endpoint.port,
                    on: shard.loop,
                    by: .now + shard.configuration.connectTimeout
                )
                shard.adopt(descriptor, key)
            } catch {
                shard.lanes[key]?.connectFailed(error)
            }
        }
    }

    private func report(_ reason: String, _ key: LaneKey) {
        guard let report = configuration.report else { return }
        let endpoint = configuration.endpoints[key.environment, key.role]
        let sentence = "connection to \(endpoint.host):\(endpoint.port) failed: \(reason)"
        let now = ContinuousClock.now
        if let last = reported[sentence], now - last < .seconds(60) { return }
        if reported.count >= 100 { reported = [:] }
        reported[sentence] = now
        report(sentence)
    }

    private func adopt(_ descriptor: Int32, _ key: LaneKey) {
        guard let lane = lanes[key] else { return Connector.discard(descriptor) }
        lane.adopt(descriptor)
    }

    private func fetchToken(_ key: LaneKey, refused: (token: String, as: ProviderTokenRefusal)?) {
        let source = providerTokens
        run { shard in
            if let refused { await source.refused(refused.token, for: key.credential, as: refused.as) }
            let result: Result<String, ProviderTokenError>
            do throws(ProviderTokenError) {
                result = .success(try await source.token(for: key.credential))
            } catch {
                result = .failure(error)
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
        for waiting in urgentOutside.removeAll(where: { _ in true }) + routineOutside.removeAll(where: { _ in true }) {
            waiting.continuation.resume(returning: false)
        }
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

    /// Ends what waits in one lane, whose credential is no more; what is under way may finish.
    func cancel(_ key: LaneKey) {
        lanes[key]?.close()
        lanes[key] = nil
    }
}
