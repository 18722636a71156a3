internal import Core
internal import Store

/// What became of the wish for a stamp.
enum StampAnswer {
    /// The same version, with its stamp.
    case stamped(MatchState)
    /// There is a newer version meanwhile: what was read with this one is to be read again.
    case overtaken
    /// Stamps have run too far ahead of the clock: whoever holds a target gives it back for so long.
    case wait(Duration)
}

extension DispatchContext {
    /// Sees that the newest version has its stamp, committed before a byte goes out.
    func stamped(_ state: MatchState) async throws(StoreError) -> StampAnswer {
        if state.isStamped { return .stamped(state) }
        let isUrgent = state.head.urgentVersion > state.stampedVersion
        switch StampRule.next(after: state.lastStamp, now: state.now, isUrgent: isUrgent) {
        case .wait(let until):
            return .wait(until - state.now)
        case .stamp(let stamp):
            let stamped = try await store.stamp(state, with: stamp, by: storeDeadline)
            return stamped.map { .stamped($0) } ?? .overtaken
        }
    }
}
