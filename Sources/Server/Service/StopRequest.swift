internal import EventLoop

/// Says once that it is time to stop.
package final class StopRequest: Sendable {
    private struct State {
        var isRequested = false
        var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
        var lastWaiter = 0
    }

    private let state = ThreadLock(State())

    package init() {}

    package var isRequested: Bool { state.withLock { $0.isRequested } }

    /// From any thread; once more is harmless.
    package func request() {
        let waiters = state.withLock { state in
            state.isRequested = true
            defer { state.waiters = [:] }
            return Array(state.waiters.values)
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Returns once it is requested, or the task is cancelled.
    package func wait() async {
        let number = state.withLock { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    // Under the lock: whoever cancels later finds the waiter.
                    let isOver = state.isRequested || Task.isCancelled
                    if !isOver { state.waiters[number] = continuation }
                    return isOver
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: number) }?.resume()
        }
    }
}
