/// What the outcome of a held push writes, after its send was committed.
///
/// It takes the locks of a registration: the phone's row, then the match's shared lock, which keeps a version from being
/// stamped meanwhile. So a send either sees the entry without its hold, or the settlement sees what the send brings.
package enum Settlement {
    /// Decides on a settlement.
    ///
    /// A settlement never deletes an entry: a send that left the phone out may be under way, and its commit will say that
    /// the whole shard has had what it sends.
    ///
    /// - Parameters:
    ///   - push: The held push.
    ///   - plan: Its send's.
    ///   - resolution: Its outcome.
    ///   - phone: Its row as it is now; nil if the row is gone, or in another shard.
    ///   - match: As it is now.
    ///   - now: The database's clock.
    /// - Returns: Nil if nothing is written.
    package static func change(
        of push: SendPlan.Push,
        in plan: SendPlan,
        resolution: Resolution,
        phone: Phone?,
        match: StampedMatch,
        now: Moment
    ) -> PhoneChange? {
        guard let phone, let held = phone.entry, held.isHeld(at: now), held.hold?.epoch == plan.epoch else {
            return nil
        }
        let isSame = phone.registration == push.registration
        if let removal = resolution.removal(of: phone, isSameRegistration: isSame) { return removal }
        let resolved = resolution.entry(
            after: push,
            version: plan.version,
            needed: plan.neededVersion,
            alert: plan.alert,
            entry: held,
            isSameRegistration: isSame,
            shardMoves: true,
            now: now
        )
        guard var entry = resolved else { return nil }
        entry.hold = nil
        // A send may have left the phone out meanwhile. So the next claim looks at the entry, and sends what came, or
        // puts the entry in order; only a retry waits, unless it lacks a key that came after it was tried.
        if case .failed = resolution, isSame, entry.dueAt != nil, !entry.lacksKey(match.keyVersion) {
            return .writeEntry(entry)
        }
        entry.dueAt = now
        return .writeEntry(entry)
    }
}
