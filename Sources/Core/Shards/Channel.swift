/// A broadcast channel as sending sees it: a shard of one, which is sent to by one push. It has no entries, but a due time
/// and failures of its own.
package struct Channel: Equatable, Sendable {
    package var reached: Int64
    package var alerted: Int64
    package var pacing: PacingRecord
    package var lease: Lease
    /// APNs keeps the newest push for phones that come late (storage policy 1), so the channel needs no repeats.
    package var keepsNewest: Bool
    /// Failed pushes of `tried`.
    package var attempts: Int
    package var tried: Int64
    /// When a failed push goes once more; nil: nothing has failed, or nothing helps before the next version.
    package var dueAt: Moment?

    package init(
        reached: Int64 = 0,
        alerted: Int64 = 0,
        pacing: PacingRecord = PacingRecord(),
        lease: Lease = Lease(),
        keepsNewest: Bool = true,
        attempts: Int = 0,
        tried: Int64 = 0,
        dueAt: Moment? = nil
    ) {
        self.reached = reached
        self.alerted = alerted
        self.pacing = pacing
        self.lease = lease
        self.keepsNewest = keepsNewest
        self.attempts = attempts
        self.tried = tried
        self.dueAt = dueAt
    }

    /// The version that the channel has to reach: repeats are for channels that keep nothing.
    package func needed(of match: StampedMatch) -> Int64 {
        keepsNewest ? match.neededVersion : match.version
    }

    /// When the channel has to be sent to, whoever holds it at the moment.
    package func nextSend(_ match: StampedMatch, limits: PacingLimits, now: Moment) -> NextSend {
        let needed = needed(of: match)
        guard reached < needed else { return .never }
        if attempts >= RetryRule.attempts && needed <= tried { return .never }
        if let dueAt, dueAt > now, match.keyVersion <= max(reached, tried) { return .at(dueAt) }
        switch Pacing.decide(urgency(of: match), record: pacing, limits: limits, now: now) {
        case .wait(let until): return .at(until)
        case .send: return .now
        }
    }

    fileprivate func urgency(of match: StampedMatch) -> Pacing.Urgency {
        match.isEnd ? .end : match.keyVersion > reached ? .key : .routine
    }
}

/// One push to a channel, decided from one snapshot of match and channel, under the channel's lease and after the stamp.
package struct ChannelPlan: Equatable, Sendable {
    package var epoch: Int64
    package var version: Int64
    package var neededVersion: Int64
    /// The pending alert; 0 if there is none.
    package var alert: Int64
    package var carriesAlert: Bool
    package var isUrgent: Bool
    package var priority: Int
    package var isDowngraded: Bool
    package var pacing: PacingRecord

    package init(
        epoch: Int64,
        version: Int64,
        neededVersion: Int64,
        alert: Int64,
        carriesAlert: Bool,
        isUrgent: Bool,
        priority: Int,
        isDowngraded: Bool,
        pacing: PacingRecord
    ) {
        self.epoch = epoch
        self.version = version
        self.neededVersion = neededVersion
        self.alert = alert
        self.carriesAlert = carriesAlert
        self.isUrgent = isUrgent
        self.priority = priority
        self.isDowngraded = isDowngraded
        self.pacing = pacing
    }

    package enum Decision: Equatable, Sendable {
        case send(ChannelPlan)
        /// The newest version has no stamp yet: it is stamped first, and everything read once more.
        case stamp
        /// The lease is given back.
        case nothing
    }

    package static func decide(
        match: StampedMatch,
        channel: Channel,
        limits: PacingLimits,
        now: Moment
    ) -> Decision {
        guard match.isStamped else { return .stamp }
        guard channel.nextSend(match, limits: limits, now: now) == .now else { return .nothing }
        let urgency = channel.urgency(of: match)
        let decision = Pacing.decide(urgency, record: channel.pacing, limits: limits, now: now)
        guard case .send(let priority, let isDowngraded) = decision else { return .nothing }
        let alert = match.pendingAlert(at: now)
        var pacing = channel.pacing
        pacing.note(priority: priority, isUrgent: urgency != .routine, at: now)
        return .send(
            ChannelPlan(
                epoch: channel.lease.epoch,
                version: match.version,
                neededVersion: channel.needed(of: match),
                alert: alert,
                carriesAlert: alert > channel.alerted,
                isUrgent: urgency != .routine,
                priority: priority,
                isDowngraded: isDowngraded,
                pacing: pacing
            )
        )
    }

    /// What the push's outcome writes.
    ///
    /// A channel that is gone is another one's matter: it is read, and replaced.
    ///
    /// - Parameters:
    ///   - resolution: Never without an outcome: the lease lasts longer than a push's deadline.
    ///   - channel: As it is now.
    ///   - jitter: From 0 to 1.
    ///   - now: The database's clock.
    /// - Returns: The channel with its lease released; nil if the lease is somebody else's by now.
    package func commit(_ resolution: Resolution, channel: Channel, jitter: Double = 0, now: Moment) -> Channel? {
        guard channel.lease.epoch == epoch else { return nil }
        var next = channel
        next.lease = channel.lease.released()
        switch resolution {
        case .accepted:
            next.pacing = pacing
            next.reached = version
            if carriesAlert { next.alerted = alert }
            next.attempts = 0
            next.dueAt = nil
        case .failed(let failure):
            next.attempts = channel.tried < neededVersion ? 1 : channel.attempts + 1
            next.tried = version
            let delay = RetryRule.delay(after: failure, attempt: next.attempts, isUrgent: isUrgent, jitter: jitter)
            let isExhausted = next.attempts >= RetryRule.attempts
            next.dueAt = isExhausted ? nil : now + delay
        case .exhausted, .dead, .refused:
            next.attempts = RetryRule.attempts
            next.tried = version
            next.dueAt = nil
        case .withdrawn, .unanswered:
            break
        }
        return next
    }
}

/// When the newest state is repeated on channels that keep nothing, for phones that were away.
package enum RepeatRule {
    package static let afterKey = Duration.seconds(30)
    /// Counted from the end.
    package static let afterEnd: [Duration] = [.seconds(60), .seconds(300), .seconds(1800), .seconds(7200)]

    /// - Parameters:
    ///   - keyAt: When the newest key version was accepted, or a page of starts went out; nil if it has been repeated.
    ///   - endedAt: When the match ended.
    ///   - repeats: How often its end has been repeated.
    /// - Returns: Nil: it is not.
    package static func next(keyAt: Moment?, endedAt: Moment?, repeats: Int) -> Moment? {
        guard let endedAt else { return keyAt.map { $0 + afterKey } }
        return repeats < afterEnd.count ? endedAt + afterEnd[repeats] : nil
    }
}
