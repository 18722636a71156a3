internal import Synchronization

/// The counters of one shard: its loop writes, any thread reads.
final class ShardCounters: Sendable {
    let waitingUrgent = Counter()
    let waitingRoutine = Counter()
    let outside = Counter()
    let inFlight = Counter()
    let connections = Counter()
    let connectionsOpened = Counter()
    let connectionsClosed = CounterTable<ConnectionEnd>()
    let accepted = Counter()
    /// By the place of the reason in ``RefusalLabel/all``.
    let refused = RefusalLabel.all.map { _ in Counter() }
    let unknown = CounterTable<UnknownCause>()
    let notProcessed = CounterTable<NotProcessedCause>()
    let resent = CounterTable<ResendCause>()
    /// From a push's due time to its outcome.
    let latencies = LatencyHistogram()
    /// From handing a routine push in until a connection has it.
    let queueTimes = LatencyHistogram()
    /// From handing an urgent push in until its bytes were given to the kernel.
    let urgentQueueTimes = LatencyHistogram()
    /// From there to APNs' answer.
    let answerTimes = LatencyHistogram()

    var counts: PoolCounts {
        var counts = PoolCounts()
        counts.waitingUrgent = waitingUrgent.value
        counts.waitingRoutine = waitingRoutine.value
        counts.outside = outside.value
        counts.inFlight = inFlight.value
        counts.connections = connections.value
        counts.connectionsOpened = connectionsOpened.value
        counts.connectionsClosed = connectionsClosed.values
        counts.accepted = accepted.value
        for (label, counter) in zip(RefusalLabel.all, refused) where counter.value > 0 {
            counts.refused[label] = counter.value
        }
        counts.unknownBy = unknown.values
        counts.notProcessedBy = notProcessed.values
        counts.resentBy = resent.values
        return counts
    }
}

/// A counter for each case of a label.
struct CounterTable<Label: CaseIterable & Hashable & Sendable>: Sendable {
    private let counters: [Label: Counter]

    init() { counters = Dictionary(uniqueKeysWithValues: Label.allCases.map { ($0, Counter()) }) }

    func add(_ amount: Int, _ label: Label) { counters[label]?.add(amount) }

    /// Those that are not 0.
    var values: [Label: Int] { counters.mapValues(\.value).filter { $0.value != 0 } }
}

/// A counter that one thread writes and any may read.
package final class Counter: Sendable {
    private let storage = Atomic<Int>(0)

    package init() {}

    package var value: Int { storage.load(ordering: .relaxed) }

    /// Not a read-modify-write: there is one writer.
    package func add(_ amount: Int) { storage.store(value &+ amount, ordering: .relaxed) }

    package func set(_ value: Int) { storage.store(value, ordering: .relaxed) }
}
