internal import EventLoop

/// The shards of a pool, as they know of each other: until the pool is drained.
final class PoolShards: Sendable {
    private let shards = ThreadLock<[PoolShard]>([])

    var all: [PoolShard] {
        get { shards.withLock { $0 } }
        set { shards.withLock { $0 = newValue } }
    }
}
