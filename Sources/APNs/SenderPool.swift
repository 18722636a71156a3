package import APNsProtocol
internal import Synchronization

/// Sends pushes to APNs over connections of its own: lanes by environment, role and credential, several connections a
/// lane, urgent pushes ahead.
///
/// Every push ends in exactly one ``Outcome``. What APNs has not taken up (REFUSED_STREAM, above GOAWAY's last stream) is
/// sent again at once with the same id; what may have arrived never is: that is `unknown`, and the caller's to decide.
/// The pool must be drained before it is let go.
package final class SenderPool: Sendable {
    private let configuration: SenderPoolConfiguration
    private let shards: [PoolShard]
    private let siblings: PoolShards
    private let counters: [ShardCounters]
    /// Pushes in hand of each shard, those on their way to it and back included.
    private let loads: [Load]

    private final class Load: Sendable {
        let pushes = Atomic<Int>(0)
    }

    /// - Parameters:
    ///   - configuration: Endpoints, limits, and at least one loop.
    ///   - providerTokens: Asked when a lane first needs one, and every minute while it works.
    package init(configuration: SenderPoolConfiguration, providerTokens: any ProviderTokenSource) {
        precondition(!configuration.loops.isEmpty, "a sender pool without a loop")
        self.configuration = configuration
        let counters = configuration.loops.map { _ in ShardCounters() }
        self.counters = counters
        loads = counters.map { _ in Load() }
        let reporter = PoolReporter(configuration.report)
        let siblings = PoolShards()
        self.siblings = siblings
        shards = zip(configuration.loops, counters).map { loop, counters in
            PoolShard(
                loop: loop,
                configuration: configuration,
                providerTokens: providerTokens,
                counters: counters,
                reporter: reporter,
                siblings: siblings
            )
        }
        siblings.all = shards
    }

    /// Sends a batch and waits until each of its pushes has its outcome, at the batch's deadline at the latest.
    ///
    /// Suspends while the queue is at its limit. Cancelling the caller's task withdraws what still waits in the queue;
    /// what is under way may finish.
    ///
    /// - Parameter batch: All its routes are of one kind.
    /// - Returns: One outcome for each recipient, in their order. `notProcessed` stands for what was never sent: its
    ///   deadline came first, it was withdrawn, the pool was drained, or the budget of resends was used up.
    package func send(_ batch: PushBatch) async -> [Outcome] {
        guard !batch.recipients.isEmpty else { return [] }
        let handedIn = ContinuousClock.now
        let number = ShardChoice.loop(
            home: batch.lane.hashValue,
            loads: shards.count == 1 ? [0] : loads.map { $0.pushes.load(ordering: .relaxed) }
        )
        loads[number].pushes.wrappingAdd(batch.recipients.count, ordering: .relaxed)
        defer { loads[number].pushes.wrappingSubtract(batch.recipients.count, ordering: .relaxed) }
        return await shards[number].send(batch, handedIn: handedIn)
    }

    /// Sends one push: a convenience, at several times a batch's cost.
    package func send(_ push: SinglePush) async -> Outcome {
        await send(push.batch).first ?? .notProcessed
    }

    package var counts: PoolCounts { counters.reduce(PoolCounts()) { $0 + $1.counts } }

    /// What the pool has in hand: a small part of ``counts``, for those who look often.
    package var gauges: PoolGauges {
        counters.reduce(into: PoolGauges()) { sum, counters in
            sum.waiting += counters.waitingUrgent.value + counters.waitingRoutine.value
            sum.inFlight += counters.inFlight.value
            sum.connections += counters.connections.value
        }
    }

    /// Of every push from its due time to its outcome, one a loop.
    package var latencies: [LatencyHistogram] { counters.map(\.latencies) }

    /// Of every routine push that was sent, from handing it in until a connection had it, one a loop.
    package var queueTimes: [LatencyHistogram] { counters.map(\.queueTimes) }

    /// Of every urgent push that was sent, from handing it in until the kernel had its bytes, one a loop.
    package var urgentQueueTimes: [LatencyHistogram] { counters.map(\.urgentQueueTimes) }

    /// Of every answer, from handing the push to a connection, one a loop.
    package var answerTimes: [LatencyHistogram] { counters.map(\.answerTimes) }

    /// Takes no more batches, waits until `deadline` for those it has, then closes every connection.
    package func drain(by deadline: ContinuousClock.Instant) async {
        await withTaskGroup(of: Void.self) { group in
            for shard in shards { group.addTask { await shard.drain(by: deadline) } }
        }
        siblings.all = []
    }

    /// Ends what waits in a lane as not processed; what is under way may finish.
    package func cancel(_ lane: LaneKey) async {
        for shard in shards { await shard.cancel(lane) }
    }
}
