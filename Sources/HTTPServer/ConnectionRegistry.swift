internal import EventLoop

/// The open connections and running handlers of a server: who is told to drain, and whose end is waited for.
final class ConnectionRegistry: Sendable {
    /// What can be done to a connection from any thread. Both only ask; the connection's loop does it.
    struct Entry: Sendable {
        let drain: @Sendable () -> Void
        let abort: @Sendable () -> Void
    }

    private struct State {
        var entries: [ObjectIdentifier: Entry] = [:]
        var handlers = 0
        var isDraining = false
        var waiter: CheckedContinuation<Void, Never>?

        var isEmpty: Bool { entries.isEmpty && handlers == 0 }

        /// The waiter, if its time has come.
        mutating func release() -> CheckedContinuation<Void, Never>? {
            guard isEmpty else { return nil }
            defer { waiter = nil }
            return waiter
        }
    }

    private let state = ThreadLock(State())

    var isDraining: Bool { state.withLock { $0.isDraining } }

    var openConnections: Int { state.withLock { $0.entries.count } }

    /// A connection that comes while the server drains is told so at once.
    func add(_ connection: AnyObject, _ entry: Entry) {
        let isDraining = state.withLock { state in
            state.entries[ObjectIdentifier(connection)] = entry
            return state.isDraining
        }
        if isDraining { entry.drain() }
    }

    func remove(_ connection: AnyObject) {
        let waiter = state.withLock { state in
            state.entries[ObjectIdentifier(connection)] = nil
            return state.release()
        }
        waiter?.resume()
    }

    func handlerBegan() {
        state.withLock { $0.handlers += 1 }
    }

    func handlerEnded() {
        let waiter = state.withLock { state in
            state.handlers -= 1
            return state.release()
        }
        waiter?.resume()
    }

    func drainAll() {
        for entry in startDraining() { entry.drain() }
    }

    func abortAll() {
        for entry in startDraining() { entry.abort() }
    }

    private func startDraining() -> [Entry] {
        state.withLock { state in
            state.isDraining = true
            return Array(state.entries.values)
        }
    }

    /// Returns when no connection is open and no handler runs, or at the deadline. Waited on by one at a time.
    ///
    /// - Returns: Whether all had ended.
    func waitUntilEmpty(by deadline: ContinuousClock.Instant) async -> Bool {
        let alarm = Task {
            try await Task.sleep(until: deadline, clock: .continuous)
            state.withLock { state in
                defer { state.waiter = nil }
                return state.waiter
            }?.resume()
        }
        await withCheckedContinuation { continuation in
            let isEmpty = state.withLock { state in
                if !state.isEmpty, deadline > .now { state.waiter = continuation }
                return state.waiter == nil
            }
            if isEmpty { continuation.resume() }
        }
        alarm.cancel()
        return state.withLock { $0.isEmpty }
    }
}
