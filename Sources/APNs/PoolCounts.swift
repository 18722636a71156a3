/// What a pool has done and has in hand, read at one moment without stopping it.
package struct PoolCounts: Equatable, Sendable {
    /// Pushes that wait for a stream.
    package var waiting = 0
    /// Pushes handed to a connection and not yet answered.
    package var inFlight = 0
    package var connections = 0
    package var connectionsOpened = 0
    package var connectionsFailed = 0
    /// Outcomes by kind.
    package var accepted = 0
    package var unknown = 0
    package var notProcessed = 0
    package var other = 0
    /// Requests beyond the first of a push: refused streams, above a GOAWAY's last stream, replaced connections or tokens.
    package var resent = 0

    package init() {}

    static func + (left: PoolCounts, right: PoolCounts) -> PoolCounts {
        var sum = left
        sum.waiting += right.waiting
        sum.inFlight += right.inFlight
        sum.connections += right.connections
        sum.connectionsOpened += right.connectionsOpened
        sum.connectionsFailed += right.connectionsFailed
        sum.accepted += right.accepted
        sum.unknown += right.unknown
        sum.notProcessed += right.notProcessed
        sum.other += right.other
        sum.resent += right.resent
        return sum
    }
}

/// The counters of one shard: its loop writes, any thread reads.
final class ShardCounters: Sendable {
    let waiting = Counter()
    let inFlight = Counter()
    let connections = Counter()
    let connectionsOpened = Counter()
    let connectionsFailed = Counter()
    let accepted = Counter()
    let unknown = Counter()
    let notProcessed = Counter()
    let other = Counter()
    let resent = Counter()
    /// From a push's due time to its outcome.
    let latencies = LatencyHistogram()

    var counts: PoolCounts {
        var counts = PoolCounts()
        counts.waiting = waiting.value
        counts.inFlight = inFlight.value
        counts.connections = connections.value
        counts.connectionsOpened = connectionsOpened.value
        counts.connectionsFailed = connectionsFailed.value
        counts.accepted = accepted.value
        counts.unknown = unknown.value
        counts.notProcessed = notProcessed.value
        counts.other = other.value
        counts.resent = resent.value
        return counts
    }
}
