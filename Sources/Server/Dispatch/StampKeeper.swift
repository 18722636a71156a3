internal import Core
internal import Log
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
        switch StampRule.next(
            after: state.lastStamp,
            stampedAt: state.stampedAt,
            now: state.now,
            isUrgent: isUrgent
        ) {
        case .wait(let until):
            return .wait(until - state.now)
        case .stamp(let stamp):
            if StampRule.isClockWrong(last: state.lastStamp, now: state.now) {
                configuration.log.warning(
                    "stamps are ahead of the database's clock: it was ahead, or is behind now",
                    [
                        "tenant": state.key.tenant.text, "match": state.key.match.text,
                        "ahead_s": state.lastStamp - state.now.seconds,
                    ],
                    limit: 2
                )
            }
            let stamped = try await store.stamp(state, with: stamp, by: storeDeadline)
            return stamped.map { .stamped($0) } ?? .overtaken
        }
    }
}
