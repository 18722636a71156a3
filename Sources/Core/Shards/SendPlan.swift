/// What one send of a shard brings to whom: decided from one snapshot of match, shard, phones and entries, which was
/// taken under the shard's lease and after the version's stamp.
///
/// A send that covers no cadence is a retry: a few phones by their entries.
package struct SendPlan: Equatable, Sendable {
    /// A cadence whose phones without an entry are all sent to.
    package struct Coverage: Equatable, Sendable {
        /// The version that the cadence had reached.
        package var from: Int64
        package var isUrgent: Bool
        package var priority: Int
        package var isDowngraded: Bool
        /// The pacing record afterwards.
        package var pacing: PacingRecord

        package init(from: Int64, isUrgent: Bool, priority: Int, isDowngraded: Bool, pacing: PacingRecord) {
            self.from = from
            self.isUrgent = isUrgent
            self.priority = priority
            self.isDowngraded = isDowngraded
            self.pacing = pacing
        }
    }

    package struct Push: Equatable, Sendable {
        /// Index into the phones that were read.
        package var phone: Int
        package var registration: Int64
        package var cadence: Cadence
        /// What the phone had had.
        package var read: PhoneState
        package var hasEntry: Bool
        package var carriesAlert: Bool
        /// By the rules of a key version.
        package var isUrgent: Bool
        package var priority: Int

        package init(
            phone: Int,
            registration: Int64,
            cadence: Cadence,
            read: PhoneState,
            hasEntry: Bool,
            carriesAlert: Bool,
            isUrgent: Bool,
            priority: Int
        ) {
            self.phone = phone
            self.registration = registration
            self.cadence = cadence
            self.read = read
            self.hasEntry = hasEntry
            self.carriesAlert = carriesAlert
            self.isUrgent = isUrgent
            self.priority = priority
        }
    }

    /// An entry that gets no push.
    package struct LeftOut: Equatable, Sendable {
        package enum Reason: Equatable, Sendable {
            case held
            /// Its cadence is paced, and it lacks no key.
            case gap(until: Moment)
            case notDue
            /// Its attempts are exhausted: it waits for the next needed version.
            case exhausted
            case upToDate
        }

        package var phone: Int
        package var registration: Int64
        package var reason: Reason

        package init(phone: Int, registration: Int64, reason: Reason) {
            self.phone = phone
            self.registration = registration
            self.reason = reason
        }
    }

    /// The lease's: the commit is void under any other.
    package var epoch: Int64
    package var version: Int64
    package var neededVersion: Int64
    /// The pending alert; 0 if there is none.
    package var alert: Int64
    /// Whether the version itself is neither a key event nor an end, so that a key version takes it back.
    package var isRoutine: Bool
    package var covered: PerCadence<Coverage?>
    package var pushes: [Push]
    package var leftOut: [LeftOut]

    package init(
        epoch: Int64,
        version: Int64,
        neededVersion: Int64,
        alert: Int64,
        isRoutine: Bool,
        covered: PerCadence<Coverage?> = PerCadence(both: nil),
        pushes: [Push] = [],
        leftOut: [LeftOut] = []
    ) {
        self.epoch = epoch
        self.version = version
        self.neededVersion = neededVersion
        self.alert = alert
        self.isRoutine = isRoutine
        self.covered = covered
        self.pushes = pushes
        self.leftOut = leftOut
    }

    /// Decides on a send. Nil if the newest version has no stamp yet: it is stamped first, and everything read once more.
    ///
    /// - Parameters:
    ///   - match: As read with the phones.
    ///   - shard: Under the lease that was claimed.
    ///   - phones: All of the shard that are not set aside, with their entries.
    ///   - limits: Of the app.
    ///   - now: The database's clock.
    package init?(
        match: StampedMatch,
        shard: Shard,
        phones: [Phone],
        limits: PerCadence<PacingLimits>,
        now: Moment
    ) {
        guard match.isStamped else { return nil }
        self.init(
            epoch: shard.lease.epoch,
            version: match.version,
            neededVersion: match.neededVersion,
            alert: match.pendingAlert(at: now),
            isRoutine: match.keyVersion != match.version && !match.isEnd
        )
        for cadence in Cadence.ofPhones {
            covered[cadence] = Self.coverage(of: cadence, match: match, shard: shard, limits: limits, now: now)
        }
        let gaps = PerCadence(
            frequent: shard.gapEnd(.frequent, limits: limits, now: now),
            standard: shard.gapEnd(.standard, limits: limits, now: now)
        )
        for index in phones.indices {
            let phone = phones[index]
            let state = phone.state(in: shard)
            guard let entry = phone.entry else {
                guard state.version < neededVersion, let coverage = covered[phone.cadence] else { continue }
                add(
                    phone,
                    at: index,
                    having: state,
                    isUrgent: coverage.isUrgent,
                    priority: coverage.priority
                )
                continue
            }
            if let reason = reason(toLeaveOut: entry, match: match, gapEnd: gaps[phone.cadence], now: now) {
                leftOut.append(LeftOut(phone: index, registration: phone.registration, reason: reason))
                continue
            }
            // The allowance of urgent pushes is the shard's: a push of a single entry goes by it, and is not counted.
            let urgency: Pacing.Urgency = match.isEnd ? .end : match.keyVersion > state.version ? .key : .routine
            let decision = Pacing.decide(
                urgency,
                record: shard.pacing[phone.cadence],
                limits: limits[phone.cadence],
                now: now
            )
            let priority = if case .send(let priority, _) = decision { priority } else { 5 }
            add(phone, at: index, having: state, isUrgent: urgency != .routine, priority: priority)
        }
    }

    /// Whether nothing is sent: the commit only puts entries in order, and ends the lease.
    package var isEmpty: Bool {
        pushes.isEmpty && !covers
    }

    /// Whether a cadence is covered.
    package var covers: Bool {
        covered.frequent != nil || covered.standard != nil
    }

    /// The same send while an outage stands: one push tries the route. It covers nothing, and is committed as a send whose
    /// shard stays.
    package func probe() -> SendPlan {
        var probe = self
        probe.covered = PerCadence(both: nil)
        probe.pushes = Array(pushes.prefix(1))
        return probe
    }

    /// Whether what is not written yet is taken back, since a key version has come meanwhile.
    package func isWithdrawn(by match: StampedMatch) -> Bool {
        isRoutine && match.keyVersion > version
    }

    /// Says whose rows the commit locks, in the order of their activities, and reads once more.
    ///
    /// - Parameters:
    ///   - resolutions: Of the pushes, in their order.
    ///   - shardStays: As for the commit.
    /// - Returns: The phones whose entries the commit may write.
    package func phonesToLock(_ resolutions: [Resolution], shardStays: Bool = false) -> [Int] {
        var phones: [Int] = []
        for (push, resolution) in zip(pushes, resolutions)
        where push.hasEntry || resolution != .accepted || shardStays {
            phones.append(push.phone)
        }
        for other in leftOut where other.reason != .held { phones.append(other.phone) }
        return phones
    }

    private mutating func add(_ phone: Phone, at index: Int, having state: PhoneState, isUrgent: Bool, priority: Int) {
        pushes.append(
            Push(
                phone: index,
                registration: phone.registration,
                cadence: phone.cadence,
                read: state,
                hasEntry: phone.entry != nil,
                carriesAlert: alert > state.alert,
                isUrgent: isUrgent,
                priority: priority
            )
        )
    }

    private func reason(
        toLeaveOut entry: Entry,
        match: StampedMatch,
        gapEnd: Moment?,
        now: Moment
    ) -> LeftOut.Reason? {
        if entry.isHeld(at: now) { return .held }
        if entry.version >= match.neededVersion { return .upToDate }
        if entry.isExhausted(needed: match.neededVersion) { return .exhausted }
        if let gapEnd, match.keyVersion <= entry.version { return .gap(until: gapEnd) }
        if let dueAt = entry.dueAt, dueAt > now, !entry.lacksKey(match.keyVersion) { return .notDue }
        return nil
    }

    private static func coverage(
        of cadence: Cadence,
        match: StampedMatch,
        shard: Shard,
        limits: PerCadence<PacingLimits>,
        now: Moment
    ) -> Coverage? {
        let reached = shard.reached[cadence]
        guard reached < match.neededVersion else { return nil }
        let urgency: Pacing.Urgency = match.isEnd ? .end : match.keyVersion > reached ? .key : .routine
        var record = shard.pacing[cadence]
        switch Pacing.decide(urgency, record: record, limits: limits[cadence], now: now) {
        case .wait:
            return nil
        case .send(let priority, let isDowngraded):
            record.note(priority: priority, isUrgent: urgency != .routine, at: now)
            return Coverage(
                from: reached,
                isUrgent: urgency != .routine,
                priority: priority,
                isDowngraded: isDowngraded,
                pacing: record
            )
        }
    }
}
