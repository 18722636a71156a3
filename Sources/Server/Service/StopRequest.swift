internal import Synchronization

/// Says once that it is time to stop.
package final class StopRequest: Sendable {
    private struct State {
        var isRequested = false
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    package init() {}

    package var isRequested: Bool { state.withLock { $0.isRequested } }

    /// From any thread; once more is harmless.
    package func request() {
        let waiters = state.withLock { state in
            state.isRequested = true
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Returns once it is requested.
    package func wait() async {
        await withCheckedContinuation { continuation in
            let isRequested = state.withLock { state in
                if !state.isRequested { state.waiters.append(continuation) }
                return state.isRequested
            }
            if isRequested { continuation.resume() }
        }
    }
}
