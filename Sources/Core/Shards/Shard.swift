/// At most 1,000 phones of a match in one environment, of both cadences, that are sent to by one batch under one lease.
///
/// What a phone has had is what its ``Entry`` says, or what its shard says if it has no entry. Nothing else remembers
/// anything about a phone.
package struct Shard: Equatable, Sendable {
    /// The version that every phone without an entry has had, by cadence.
    package var reached: PerCadence<Int64>
    /// The newest alert that every phone without an entry has had. One is enough for both cadences: a version with an
    /// alert is never paced, so it goes to both at once.
    package var alerted: Int64
    package var pacing: PerCadence<PacingRecord>
    package var lease: Lease

    package init(
        reached: PerCadence<Int64> = PerCadence(both: 0),
        alerted: Int64 = 0,
        pacing: PerCadence<PacingRecord> = PerCadence(both: PacingRecord()),
        lease: Lease = Lease()
    ) {
        self.reached = reached
        self.alerted = alerted
        self.pacing = pacing
        self.lease = lease
    }

    /// A new shard, made while no version can be stamped. It starts at the stamped version, so that a newcomer that
    /// shows it needs no entry, and with its alert, which would come again otherwise.
    package init(newIn match: StampedMatch) {
        self.init(reached: PerCadence(both: match.stampedNeededVersion), alerted: match.stampedAlert)
    }
}

/// When something is to be sent to next.
package enum NextSend: Equatable, Sendable {
    case now
    case at(Moment)
    /// It lacks nothing, or waits for the next version.
    case never
}

extension Shard {
    /// When the shard has to be claimed for a version, whoever holds it at the moment. Entries have due times of their own.
    package func nextSend(_ match: StampedMatch, limits: PerCadence<PacingLimits>, now: Moment) -> NextSend {
        var earliest: Moment?
        for cadence in Cadence.ofPhones where reached[cadence] < match.neededVersion {
            guard match.keyVersion <= reached[cadence], let end = gapEnd(cadence, limits: limits, now: now) else {
                return .now
            }
            earliest = min(earliest ?? end, end)
        }
        return earliest.map(NextSend.at) ?? .never
    }

    /// Whether a claim finds work: a cadence that is behind and not paced, or an entry that is due.
    package func isClaimable(
        _ match: StampedMatch,
        hasDueEntry: Bool,
        limits: PerCadence<PacingLimits>,
        now: Moment
    ) -> Bool {
        !lease.isHeld(at: now) && (hasDueEntry || nextSend(match, limits: limits, now: now) == .now)
    }

    /// When the gap after the cadence's last routine update ends; nil if none runs.
    package func gapEnd(_ cadence: Cadence, limits: PerCadence<PacingLimits>, now: Moment) -> Moment? {
        switch Pacing.decide(.routine, record: pacing[cadence], limits: limits[cadence], now: now) {
        case .send: nil
        case .wait(let until): until
        }
    }
}
