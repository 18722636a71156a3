internal import EventLoop

/// How many pages of tokens a process may have read and not yet committed, over all its sweeps.
///
/// It bounds the memory that sweeping takes, and what is sent twice after a crash. Who waits for an urgent page is served
/// first, else first come first served, which goes round the sweeps, since each asks for one page at a time.
final class PagePermits: Sendable {
    private struct State {
        var free: Int
        var urgent: [CheckedContinuation<Void, Never>] = []
        var routine: [CheckedContinuation<Void, Never>] = []
    }

    private let state: ThreadLock<State>

    init(count: Int) {
        precondition(count > 0, "\(count) pages at once")
        state = ThreadLock(State(free: count))
    }

    func take(isUrgent: Bool) async {
        await withCheckedContinuation { continuation in
            let isGranted = state.withLock { state in
                if state.free > 0 {
                    state.free -= 1
                    return true
                }
                if isUrgent { state.urgent.append(continuation) } else { state.routine.append(continuation) }
                return false
            }
            if isGranted { continuation.resume() }
        }
    }

    /// Takes one if one is free, without waiting.
    func tryTake() -> Bool {
        state.withLock { state in
            guard state.free > 0 else { return false }
            state.free -= 1
            return true
        }
    }

    func give() {
        let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
            if !state.urgent.isEmpty { return state.urgent.removeFirst() }
            if !state.routine.isEmpty { return state.routine.removeFirst() }
            state.free += 1
            return nil
        }
        next?.resume()
    }
}
