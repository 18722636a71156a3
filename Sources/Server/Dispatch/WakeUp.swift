internal import EventLoop

/// A signal that many give and one waits for. Signals that nobody waits for count as one.
package final class WakeUp: Sendable {
    private struct State {
        var isSignalled = false
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state = ThreadLock(State())

    package init() {}

    package func signal() {
        let waiter = state.withLock { state in
            guard let waiter = state.waiter else {
                state.isSignalled = true
                return nil as CheckedContinuation<Void, Never>?
            }
            state.waiter = nil
            return waiter
        }
        waiter?.resume()
    }

    /// Returns at the next signal, one given before included; at the latest after `duration`, or when cancelled.
    package func wait(atMost duration: Duration) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.signalled() }
            group.addTask { try? await Task.sleep(for: duration) }
            await group.next()
            group.cancelAll()
        }
    }

    private func signalled() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    // Looked at under the lock: whoever cancels later finds the waiter.
                    if state.isSignalled || Task.isCancelled {
                        state.isSignalled = state.isSignalled && Task.isCancelled
                        return true
                    }
                    precondition(state.waiter == nil, "two wait for one signal")
                    state.waiter = continuation
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                defer { state.waiter = nil }
                return state.waiter
            }
            waiter?.resume()
        }
    }
}
