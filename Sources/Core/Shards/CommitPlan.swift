/// What a send writes when its outcomes are known, or a second after its last byte: one transaction, under the send's lease.
///
/// The shard says that everybody has had what was sent, whatever failed; who differs gets an entry. A push whose outcome
/// is not known yet leaves a held entry, and its outcome a ``Settlement``.
package struct CommitPlan: Equatable, Sendable {
    /// How long after its last byte a send waits for outcomes.
    package static let patience = Duration.seconds(1)
    /// How much longer than its deadline a push's hold lasts.
    package static let holdSlack = Duration.seconds(5)

    package struct Change: Equatable, Sendable {
        package var phone: Int
        package var change: PhoneChange

        package init(phone: Int, change: PhoneChange) {
            self.phone = phone
            self.change = change
        }
    }

    /// The shard with its lease released.
    package var shard: Shard
    /// By index into the phones that were read. Only phones whose row was locked are in it.
    package var changes: [Change]
    package var lines: [DeliveryLine]

    /// Decides on a commit. Nil if the lease is somebody else's by now: nothing is written.
    ///
    /// - Parameters:
    ///   - plan: What was sent.
    ///   - resolutions: Of its pushes, in their order.
    ///   - shard: As it is now.
    ///   - phones: The rows of ``SendPlan/phonesToLock(_:shardStays:)`` as they are now, with their entries. Absent: the row is
    ///     gone, or in another shard; its outcome is counted, and nothing is written.
    ///   - holdUntil: For pushes without an outcome: their deadline and ``holdSlack``.
    ///   - shardStays: The shard is not moved; entries say who is ahead of it. For a probe, and for a send that met an
    ///     outage and was accepted for nobody: it needs no entries.
    ///   - now: The database's clock.
    package init?(
        _ plan: SendPlan,
        resolutions: [Resolution],
        shard: Shard,
        phones: [Int: Phone],
        holdUntil: Moment,
        shardStays: Bool = false,
        now: Moment
    ) {
        guard shard.lease.epoch == plan.epoch else { return nil }
        self.init(shard: shard, plan: plan, stays: shardStays)
        lines = DeliveryLine.lines(of: plan, resolutions: resolutions, shardStays: shardStays)

        for (push, resolution) in zip(plan.pushes, resolutions) {
            guard let phone = phones[push.phone] else { continue }
            let isSame = phone.registration == push.registration
            if let removal = resolution.removal(of: phone, isSameRegistration: isSame) {
                changes.append(Change(phone: push.phone, change: removal))
                continue
            }
            var entry = resolution.entry(
                after: push,
                version: plan.version,
                needed: plan.neededVersion,
                alert: plan.alert,
                entry: phone.entry,
                isSameRegistration: isSame,
                shardMoves: !shardStays,
                now: now
            )
            if resolution == .unanswered {
                entry?.hold = Entry.Hold(epoch: plan.epoch, until: holdUntil)
                entry?.dueAt = holdUntil
            } else {
                entry?.hold = nil
            }
            write(entry, for: phone, at: push.phone, now: now)
        }
        for other in plan.leftOut {
            guard let phone = phones[other.phone] else { continue }
            var entry = phone.entry
            if phone.registration == other.registration {
                switch other.reason {
                // A due entry that gets no push must not stay due: the next claim would find it again.
                case .gap(let until): entry?.dueAt = until
                case .exhausted, .upToDate: entry?.dueAt = nil
                case .held, .notDue: break
                }
            }
            write(entry, for: phone, at: other.phone, now: now)
        }
    }

    private init(shard: Shard, plan: SendPlan, stays: Bool) {
        self.shard = shard
        changes = []
        lines = []
        self.shard.lease = shard.lease.released()
        for cadence in Cadence.ofPhones {
            guard let coverage = plan.covered[cadence] else { continue }
            self.shard.pacing[cadence] = coverage.pacing
            if stays { continue }
            self.shard.reached[cadence] = plan.version
            self.shard.alerted = max(self.shard.alerted, plan.alert)
        }
    }

    /// Writes what has changed. An entry that says what the shard says goes, unless it is held.
    private mutating func write(_ entry: Entry?, for phone: Phone, at index: Int, now: Moment) {
        guard let entry else { return }
        if !entry.isHeld(at: now) && entry.saysSame(as: shard, cadence: phone.cadence) {
            if phone.entry != nil { changes.append(Change(phone: index, change: .deleteEntry)) }
        } else if entry != phone.entry {
            changes.append(Change(phone: index, change: .writeEntry(entry)))
        }
    }
}
