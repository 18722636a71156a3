internal import APNsProtocol
internal import Core
internal import Store

extension DispatchContext {
    /// Sees that the newest version has its stamp, committed before a byte goes out.
    ///
    /// Waits while stamps have run too far ahead of the clock.
    /// - Returns: The same version, stamped; nil: there is a newer one meanwhile, so that what was read with this one is
    ///   to be read again.
    func stamped(_ state: MatchState, in environment: APNsEnvironment) async throws(StoreError) -> MatchState? {
        var current = state
        while current.head.version == state.head.version {
            if current.isStamped { return current }
            let next: MatchState?
            switch StampRule.next(after: current.lastStamp, now: current.now) {
            case .stamp(let stamp):
                next = try await store.stamp(current, with: stamp, in: environment, by: storeDeadline)
            case .wait(let until):
                try? await Task.sleep(for: until - current.now)
                if Task.isCancelled { return nil }
                next = try await store.matchState(current.key, in: environment, by: storeDeadline)
            }
            guard let next else { return nil }
            current = next
        }
        return nil
    }
}
