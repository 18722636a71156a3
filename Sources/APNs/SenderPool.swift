package import APNsProtocol
internal import HTTP2
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
    private let counters: [ShardCounters]
    private let turn = Atomic<Int>(0)

    /// - Parameters:
    ///   - configuration: Endpoints, limits, and at least one loop.
    ///   - providerTokens: Asked when a lane first needs one, and every minute while it works.
    package init(configuration: SenderPoolConfiguration, providerTokens: any ProviderTokenSource) {
        precondition(!configuration.loops.isEmpty, "a sender pool without a loop")
        self.configuration = configuration
        let counters = configuration.loops.map { _ in ShardCounters() }
        self.counters = counters
        shards = zip(configuration.loops, counters).map { loop, counters in
            PoolShard(
                loop: loop,
                configuration: configuration,
                providerTokens: providerTokens,
                counters: counters
            )
        }
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
        guard let first = batch.recipients.first else { return [] }
        guard batch.deadline > .now else { return Array(repeating: .notProcessed, count: batch.recipients.count) }
        // APNs would answer 413 to each of them.
        guard batch.payload.count <= first.route.payloadLimitBytes else {
            return Array(repeating: .tooLarge, count: batch.recipients.count)
        }
        return await shard(for: batch.lane).send(batch)
    }

    /// Sends one push: a convenience, at several times a batch's cost.
    package func send(_ push: SinglePush) async -> Outcome {
        await send(push.batch).first ?? .notProcessed
    }

    package var counts: PoolCounts { counters.reduce(PoolCounts()) { $0 + $1.counts } }

    /// Of every push from its due time to its outcome, one a loop.
    package var latencies: [LatencyHistogram] { counters.map(\.latencies) }

    /// Takes no more batches, waits until `deadline` for those it has, then closes every connection.
    package func drain(by deadline: ContinuousClock.Instant) async {
        await withTaskGroup(of: Void.self) { group in
            for shard in shards { group.addTask { await shard.drain(by: deadline) } }
        }
    }

    /// Ends what waits in a lane as not processed; what is under way may finish.
    package func cancel(_ lane: LaneKey) async {
        for shard in shards { await shard.cancel(lane) }
    }

    /// Pushes are spread over the loops; the few pushes of the other roles share connections on one.
    private func shard(for lane: LaneKey) -> PoolShard {
        guard shards.count > 1 else { return shards[0] }
        let number = lane.role == .push ? turn.wrappingAdd(1, ordering: .relaxed).newValue : lane.hashValue
        return shards[Int(UInt(bitPattern: number) % UInt(shards.count))]
    }
}
