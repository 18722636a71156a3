/// What became of a push to a phone, as its entry has to know it.
package enum Resolution: Equatable, Sendable {
    case accepted
    /// It did not arrive, or may have: it goes once more.
    case failed(RetryRule.Failure)
    /// Nothing helps before the next version.
    case exhausted(reason: String)
    /// It was taken back before it was written, or the app stopped: not an attempt.
    case withdrawn
    /// The token is no more; nil: whenever it was registered.
    case dead(asOf: Moment?)
    /// The token is set aside.
    case refused(reason: String)
    /// Its outcome is not known yet.
    case unanswered

    package init(_ disposition: Disposition) {
        switch disposition {
        case .accepted: self = .accepted
        case .removeToken(let asOf): self = .dead(asOf: asOf)
        case .setTokenAside(let reason): self = .refused(reason: reason)
        // The app's work stops with a reason of its own; its entries wait until it goes on.
        case .stopApp: self = .withdrawn
        case .retry(let failure): self = .failed(failure)
        case .giveUp(let reason), .checkChannel(let reason): self = .exhausted(reason: reason)
        }
    }
}

extension Resolution {
    /// What a push leaves in the entry of its phone. The hold is not regarded.
    ///
    /// An entry that was renewed since the read is the newer registration's: the push does not close it. It only learns
    /// which alert the phone has had. While an entry says nothing of alerts it follows its shard, which says that the
    /// alert came, so a failure has to write down that this one did not.
    ///
    /// - Parameters:
    ///   - push: The push.
    ///   - version: That it brought.
    ///   - needed: The needed version of that time.
    ///   - alert: That it carried, if it carried one.
    ///   - entry: As it is now.
    ///   - isSameRegistration: The phone has not registered since the read.
    ///   - shardMoves: The shard will say what was sent, so that acceptance needs no entry.
    ///   - now: The database's clock.
    /// - Returns: The entry; nil if there is none, and none is needed.
    func entry(
        after push: SendPlan.Push,
        version: Int64,
        needed: Int64,
        alert: Int64,
        entry: Entry?,
        isSameRegistration: Bool,
        shardMoves: Bool,
        now: Moment
    ) -> Entry? {
        let heard = push.carriesAlert ? max(push.read.alert, alert) : push.read.alert
        if self == .accepted {
            if isSameRegistration {
                guard entry != nil || !shardMoves else { return nil }
                return Entry(version: version, alert: max(heard, entry?.alert ?? 0), hold: entry?.hold)
            }
            guard var entry, entry.alert != nil || !shardMoves else { return entry }
            entry.alert = max(entry.alert ?? 0, heard)
            return entry
        }
        guard var entry = entry ?? (isSameRegistration ? Entry(version: push.read.version, alert: nil) : nil) else {
            return nil
        }
        entry.alert = entry.alert ?? push.read.alert
        guard isSameRegistration else { return entry }
        switch self {
        case .failed(let failure):
            entry.fail(failure, of: push, version: version, needed: needed, now: now)
        case .dead:
            // APNs speaks of a time before the registration.
            entry.fail(.later(after: nil), of: push, version: version, needed: needed, now: now)
        case .exhausted:
            entry.attempts = RetryRule.attempts
            entry.tried = version
            entry.dueAt = nil
        case .withdrawn:
            entry.dueAt = now
        case .accepted, .refused, .unanswered:
            break
        }
        return entry
    }

    /// Whether the phone itself goes: only if it has not registered since, and APNs speaks of a time after its registration.
    func removal(of phone: Phone, isSameRegistration: Bool) -> PhoneChange? {
        guard isSameRegistration else { return nil }
        switch self {
        case .dead(let asOf):
            return asOf.map { phone.registeredAt <= $0 } ?? true ? .removePhone : nil
        case .refused(let reason):
            return .setAside(reason: reason)
        case .accepted, .failed, .exhausted, .withdrawn, .unanswered:
            return nil
        }
    }
}

extension Entry {
    /// Counts a failed attempt. Attempts start anew with a needed version above the one that was tried.
    fileprivate mutating func fail(
        _ failure: RetryRule.Failure,
        of push: SendPlan.Push,
        version: Int64,
        needed: Int64,
        now: Moment
    ) {
        attempts = tried < needed ? 1 : attempts + 1
        tried = version
        dueAt =
            attempts >= RetryRule.attempts
            ? nil
            : now
                + RetryRule.delay(
                    after: failure,
                    attempt: attempts,
                    isUrgent: push.isUrgent,
                    jitter: RetryRule.jitter(of: push.registration.description, attempt: attempts)
                )
    }
}
