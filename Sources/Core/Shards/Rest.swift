/// When a match that has nothing to send now is looked at again: the `due_at` of its due row.
///
/// It is worked out while no event can be accepted. An event, a resumption, and a commit whose match sleeps until some
/// time bring the row forward to now. Entries have due times of their own and are found without the row.
package enum Rest {
    /// Works out when to wake.
    ///
    /// - Parameters:
    ///   - match: As it is now.
    ///   - shards: Of the match and environment; those that have reached the needed version may be left out.
    ///   - limits: Of the app.
    ///   - probeAt: When the outage of the app's route is tried next; nil if there is none.
    ///   - isPaused: The tenant, app or match. Ends pass.
    ///   - now: The database's clock.
    /// - Returns: Nil: nothing is to be done before an event or a resumption.
    package static func dueAt(
        match: StampedMatch,
        shards: [Shard],
        limits: PerCadence<PacingLimits>,
        probeAt: Moment? = nil,
        isPaused: Bool = false,
        now: Moment
    ) -> Moment? {
        if isPaused && !match.isEnd { return nil }
        var earliest: Moment?
        for shard in shards {
            let wakes: Moment
            switch shard.nextSend(match, limits: limits, now: now) {
            case .never: continue
            case .now: wakes = now
            case .at(let moment): wakes = moment
            }
            let possible = shard.lease.until.map { max($0, wakes) } ?? wakes
            earliest = earliest.map { min($0, possible) } ?? possible
        }
        return earliest.map { max($0, probeAt ?? $0) }
    }

    /// The due row after a commit, which ends a lease before its time: whoever rested meanwhile counted on the lease's end.
    package static func dueAt(afterCommit dueAt: Moment?, now: Moment) -> Moment? {
        dueAt.map { min($0, now) }
    }
}
