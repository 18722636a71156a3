import APNs
import APNsProtocol
internal import Synchronization

/// As many pushes as the streams hold, and the next when one has ended.
struct ClosedLoop: Sendable {
    let options: PoolOptions
    let load: PoolLoad
    let pool: SenderPool
    let tally: PoolTally

    /// Returns when every push has its outcome.
    func run(_ tickets: Tickets) async {
        // Twice as many pushes in hand as the streams hold, so that the pool's queue never runs dry.
        let inHand = options.inHand ?? 2 * options.connections * options.loops * options.streams
        let senders = max(2, (inHand + options.batch - 1) / options.batch) * options.tenants
        await withTaskGroup(of: Void.self) { group in
            for sender in 0..<senders {
                group.addTask { await send(sender, tickets) }
            }
        }
    }

    private func send(_ sender: Int, _ tickets: Tickets) async {
        let routes = load.tokens(group: sender, count: options.batch)
        let tenant = sender % options.tenants
        let latencies = tally.channelHistogram()
        var counts = OutcomeCounts()
        var offered = 0
        while true {
            // A token is used again only when its last push has ended: nothing can be reordered.
            let numbers = tickets.take(options.batch)
            guard !numbers.isEmpty else { break }
            offered += numbers.count
            let now = ContinuousClock.now
            let channels = options.mix.channelPushes(of: numbers)
            let tokens = routes.prefix(numbers.count - channels)
            async let broadcasts = broadcast(numbers.prefix(channels), tenant, latencies)
            if !tokens.isEmpty {
                counts.add(
                    await pool.send(load.batch(tokens, first: numbers.lowerBound + channels, tenant: tenant, due: now))
                )
            }
            counts.add(await broadcasts)
            tally.done(numbers.count)
        }
        tally.add(counts, offered: offered)
    }

    private func broadcast(
        _ numbers: Range<Int>.SubSequence,
        _ tenant: Int,
        _ latencies: LatencyHistogram
    ) async -> OutcomeCounts {
        guard !numbers.isEmpty else { return OutcomeCounts() }
        // Due when they are handed in: before that they have waited for this machine's cores, not for the pool.
        let due = ContinuousClock.now
        return await withTaskGroup(of: [Outcome].self) { group in
            for number in numbers {
                group.addTask { await pool.send(load.broadcast(number, tenant: tenant, due: due)) }
            }
            var counts = OutcomeCounts()
            for await outcomes in group {
                latencies.record(due.duration(to: .now))
                counts.add(outcomes)
            }
            return counts
        }
    }
}
