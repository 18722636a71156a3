import APNs
import APNsProtocol
import EventLoop
internal import Executables

/// So many pushes a second, due whether or not others have ended: a slow answer delays none of them, and is counted from
/// the moment at which its push was due.
struct OpenLoop: Sendable {
    let options: PoolOptions
    let load: PoolLoad
    let pool: SenderPool
    let tally: PoolTally
    let rate: Int
    /// One of the pool's: pushes are handed in on it, as h2load does all on one thread, so that what is measured is the pool
    /// and not the waking of threads.
    let loop: EventLoop

    /// Returns when every push has its outcome.
    func run(_ tickets: Tickets) async {
        await withTaskExecutorPreference(loop) { await issue(tickets) }
    }

    private func issue(_ tickets: Tickets) async {
        let routes = RoutePool(load: load)
        let histograms = HistogramPool(tally: tally)
        let tick = Duration.milliseconds(options.tickMilliseconds)
        let begin = ContinuousClock.now
        await withDiscardingTaskGroup { group in
            var issued = 0
            var number = 0
            while true {
                number += 1
                let due = begin + tick * number
                await wait(until: due)
                let wanted = Int(Double(rate) * (tick * number).seconds) - issued
                guard wanted > 0 else { continue }
                let numbers = tickets.take(wanted)
                guard !numbers.isEmpty else { break }
                issued += numbers.count
                // Tenants in turn: each tick is one tenant's.
                let tenant = number % options.tenants
                group.addTask { await send(numbers, tenant, due, routes, histograms) }
            }
        }
    }

    private func wait(until due: ContinuousClock.Instant) async {
        guard due > .now else { return }
        await withCheckedContinuation { continuation in
            _ = loop.schedule(at: due) { continuation.resume() }
        }
    }

    private func send(
        _ numbers: Range<Int>,
        _ tenant: Int,
        _ due: ContinuousClock.Instant,
        _ routes: RoutePool,
        _ histograms: HistogramPool
    ) async {
        let channels = options.mix.channelPushes(of: numbers)
        async let broadcasts = broadcast(numbers.prefix(channels), tenant, due, histograms)
        var counts = OutcomeCounts()
        let tokens = numbers.count - channels
        if tokens > 0 {
            let group = routes.take(tokens)
            counts.add(
                await pool.send(
                    load.batch(group.prefix(tokens), first: numbers.lowerBound + channels, tenant: tenant, due: due)
                )
            )
            routes.giveBack(group)
        }
        counts.add(await broadcasts)
        tally.done(numbers.count)
        tally.add(counts, offered: numbers.count)
    }

    private func broadcast(
        _ numbers: Range<Int>.SubSequence,
        _ tenant: Int,
        _ due: ContinuousClock.Instant,
        _ histograms: HistogramPool
    ) async -> OutcomeCounts {
        guard !numbers.isEmpty else { return OutcomeCounts() }
        let latencies = histograms.take()
        defer { histograms.giveBack(latencies) }
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

/// Groups of tokens; one is used again only when all its pushes have ended, so that nothing can be reordered.
private final class RoutePool: Sendable {
    private struct State {
        var free: [[PushRoute]] = []
        var made = 0
    }

    private let load: PoolLoad
    private let state = ThreadLock(State())

    init(load: PoolLoad) { self.load = load }

    func take(_ count: Int) -> [PushRoute] {
        let (found, group): ([PushRoute]?, Int) = state.withLock { state in
            if let group = state.free.popLast(), group.count >= count { return (group, 0) }
            state.made += 1
            return (nil, state.made)
        }
        return found ?? load.tokens(group: group, count: count)
    }

    func giveBack(_ group: [PushRoute]) { state.withLock { $0.free.append(group) } }
}

/// Histograms have one writer each.
private final class HistogramPool: Sendable {
    private let tally: PoolTally
    private let free = ThreadLock<[LatencyHistogram]>([])

    init(tally: PoolTally) { self.tally = tally }

    func take() -> LatencyHistogram { free.withLock { $0.popLast() } ?? tally.channelHistogram() }

    func giveBack(_ histogram: LatencyHistogram) { free.withLock { $0.append(histogram) } }
}
