import APNs
internal import EventLoop
internal import Synchronization

/// What the senders of a run have counted so far.
final class PoolTally: Sendable {
    private struct State {
        var outcomes = OutcomeCounts()
        var offered = 0
        var channelLatencies: [LatencyHistogram] = []
    }

    private let state = ThreadLock(State())
    private let finished = Atomic<Int>(0)

    /// So many more pushes have their outcomes: for the progress.
    func done(_ count: Int) { finished.wrappingAdd(count, ordering: .relaxed) }

    var doneCount: Int { finished.load(ordering: .relaxed) }

    func add(_ counts: OutcomeCounts, offered: Int) {
        state.withLock { state in
            state.outcomes.add(counts)
            state.offered += offered
        }
    }

    /// One more writer of the latencies of pushes to channels.
    func channelHistogram() -> LatencyHistogram {
        let histogram = LatencyHistogram()
        state.withLock { $0.channelLatencies.append(histogram) }
        return histogram
    }

    var outcomes: OutcomeCounts { state.withLock { $0.outcomes } }
    var offered: Int { state.withLock { $0.offered } }
    var channelLatencies: [LatencyHistogram] { state.withLock { $0.channelLatencies } }
}
