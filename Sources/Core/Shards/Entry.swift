/// The version and the newest alert that a phone has had.
package struct PhoneState: Equatable, Sendable {
    package var version: Int64
    package var alert: Int64

    package init(version: Int64, alert: Int64) {
        self.version = version
        self.alert = alert
    }
}

/// One phone that differs from its shard: a push failed, it registered late, it took another token or cadence, or it is ahead.
package struct Entry: Equatable, Sendable {
    /// A push to the phone is under way, or its outcome is not known. Nobody else sends to the phone meanwhile.
    package struct Hold: Equatable, Sendable {
        /// The epoch of the lease under which the push was sent.
        package var epoch: Int64
        /// The push's deadline and a little more: then its outcome will not come.
        package var until: Moment

        package init(epoch: Int64, until: Moment) {
            self.epoch = epoch
            self.until = until
        }
    }

    package var version: Int64
    /// The newest alert that the phone has had; nil: what its shard says, now and later.
    package var alert: Int64?
    /// Failed pushes of `tried`.
    package var attempts: Int
    /// The version that was tried last; 0 if none was.
    package var tried: Int64
    /// When the entry is to be looked at; nil: when its shard is sent to next. A held one's: when its hold ends.
    package var dueAt: Moment?
    package var hold: Hold?

    package init(
        version: Int64,
        alert: Int64?,
        attempts: Int = 0,
        tried: Int64 = 0,
        dueAt: Moment? = nil,
        hold: Hold? = nil
    ) {
        self.version = version
        self.alert = alert
        self.attempts = attempts
        self.tried = tried
        self.dueAt = dueAt
        self.hold = hold
    }

    package func isHeld(at now: Moment) -> Bool {
        hold.map { $0.until > now } ?? false
    }

    package func isDue(at now: Moment) -> Bool {
        dueAt.map { $0 <= now } ?? false
    }

    /// Whether nothing helps before a needed version above `tried`.
    package func isExhausted(needed: Int64) -> Bool {
        attempts >= RetryRule.attempts && needed <= tried
    }

    /// Whether the entry lacks a key version that has not been tried: then it does not wait for its due time.
    package func lacksKey(_ keyVersion: Int64) -> Bool {
        keyVersion > max(version, tried)
    }

    /// Whether the phone's state is its shard's: then the entry says nothing.
    package func saysSame(as shard: Shard, cadence: Cadence) -> Bool {
        version == shard.reached[cadence] && (alert == nil || alert == shard.alerted)
    }
}

/// A phone's row, with its entry.
package struct Phone: Equatable, Sendable {
    /// The number of its last registration, from a sequence: never used twice.
    package var registration: Int64
    package var registeredAt: Moment
    package var cadence: Cadence
    package var entry: Entry?

    package init(registration: Int64, registeredAt: Moment, cadence: Cadence, entry: Entry? = nil) {
        self.registration = registration
        self.registeredAt = registeredAt
        self.cadence = cadence
        self.entry = entry
    }

    /// What the phone has had.
    package func state(in shard: Shard) -> PhoneState {
        guard let entry else { return PhoneState(version: shard.reached[cadence], alert: shard.alerted) }
        return PhoneState(version: entry.version, alert: entry.alert ?? shard.alerted)
    }
}

/// What is written for one phone.
package enum PhoneChange: Equatable, Sendable {
    case writeEntry(Entry)
    case deleteEntry
    /// The row and its entry: APNs says that the token is no more.
    case removePhone
    /// The row is kept, but not sent to before the phone registers again; its entry goes.
    case setAside(reason: String)
}
