import Core

/// One match: its versions, its shards, and one or two phones, with a ghost of each that knows what it ought to have had.
struct PhonesWorld {
    /// What is told, how much may go wrong in it, and the rule that is followed.
    struct Setting {
        /// One letter a version: a key with alert, k key, r routine, e end, x repeat for channels, c correction.
        var story: String
        var budget: Budget
        var rule = Rule()
        var breaks: Set<Break> = []

        /// Alerts by version: which is the newest that is not taken back, 0 if there is none.
        let alertOf: [Int]
        let neededOf: [Int]
        let keyOf: [Int]
        let endOf: [Int]
        let letters: [Character]

        init(_ story: String, _ budget: Budget) {
            self.story = story
            self.budget = budget
            letters = Array(story)
            var (alert, needed, key, end) = ([0], [0], [0], [0])
            for (index, letter) in letters.enumerated() {
                let version = index + 1
                alert.append(letter == "a" ? version : letter == "c" ? 0 : alert[index])
                needed.append(letter == "x" ? needed[index] : version)
                key.append(letter == "r" || letter == "x" ? key[index] : version)
                end.append(letter == "e" ? version : end[index])
            }
            (alertOf, neededOf, keyOf, endOf) = (alert, needed, key, end)
        }

        func isEnd(_ version: Int) -> Bool { endOf[version] > 0 }
        func isBroken(_ what: Break) -> Bool { !breaks.isEmpty && breaks.contains(what) }
    }

    /// How often each thing may happen.
    struct Budget {
        var phones = 1
        var shards = 1
        var registrations = 2
        var failures = 1
        var unknown = 1
        var lost = 1
        var expiries = 0
        var removals = 0
        /// A key version takes back what a routine send has not written.
        var withdraws = false
        /// A push may exhaust its phone's attempts.
        var exhausts = false
        /// APNs may say that a token is dead.
        var dies = false
        /// The shard may stay where it is when too much failed.
        var stays = true
        /// The phones are registered when the story begins.
        var isOld = true
        /// There is no shard before the story is told.
        var isLate = false
        /// The due row sleeps, and only what wakes it lets a shard be claimed.
        var rests = false
        /// All shards are made when the story begins, and the phones are in one each.
        var isApart = false
        /// All phones are of this cadence; nil: in turn, frequent first.
        var cadence: Cadence?
    }

    /// What the engine never does, but a mutant.
    enum Break { case lease, lock, order, written, entryRow, number, missing, settleLock, epoch, stampFirst, mark }

    struct Part {
        var push: SendPlan.Push
        var state: PushState
    }

    /// What has become of a push.
    enum PushState: Int {
        case waiting
        /// It came to the phone, or to nobody; the answer is under way.
        case came
        case accepted
        case failed
        case exhausted
        case unknown
        case withdrawn
        case dead
        /// Nobody wants to know any more.
        case gone

        var isOpen: Bool { self == .waiting || self == .came }
        /// It has not come, and will not.
        var isEmpty: Bool {
            self == .failed || self == .exhausted || self == .gone || self == .withdrawn || self == .dead
        }
    }

    struct Send {
        var shard: Int
        var plan: SendPlan
        var states: [PushState]
    }

    /// A push whose send is committed already.
    struct Doubt {
        var phone: Int
        var shard: Int
        var plan: SendPlan
        var state: PushState
    }

    struct ShardSlot {
        var isMade: Bool
        var shard: Shard
    }

    struct PhoneSlot {
        /// Its row is there.
        var isRegistered: Bool
        var shard: Int
        var row: Phone
        /// The phone took its token with that registration.
        var tokenSince: Int64 = 0
        // What follows is the phone's own, and the checks'.
        /// It registered, and its token has not died.
        var isAlive: Bool
        /// A push to this registration has failed: its attempts may be exhausted.
        var hasFailed = false
        /// It named nothing, and has had no push since.
        var asks = false
        var shows = 0
        var hasEnded = false
        /// Sets of alerts: those that came, and those that it knows without a push. Bit n: alert n.
        var heard = 0
        var waived = 0
        /// Versions and alerts that may come twice, since a lease was lost, an outcome was unknown, or the row went meanwhile.
        var riskVersions = 0
        var riskAlerts = 0
        /// Versions that came to a registration, by its number.
        var log: [(registration: Int64, versions: Int)] = []
    }

    var accepted = 0
    var stamped = 0
    /// Alerts up to that one have expired.
    var expired = 0
    /// Of the due row; nil: it sleeps until it is woken.
    var dueAt: Moment? = Clock.now
    var shards: [ShardSlot] = []
    var sends: [Send] = []
    var doubts: [Doubt] = []
    var phones: [PhoneSlot] = []
    var registrations = 0
    var failures = 0
    var unknown = 0
    var lost = 0
    var expiries = 0
    var removals = 0
}

extension PhonesWorld: World {
    static func first(_ setting: Setting) -> Self {
        let budget = setting.budget
        var world = Self()
        world.shards = (0..<budget.shards).map { index in
            var shard = Shard()
            // The gap runs at the beginning, as if a routine version had just gone out.
            if index == 0 { shard.pacing.standard.routineAt = Clock.now }
            return ShardSlot(isMade: (index == 0 || budget.isApart) && !budget.isLate, shard: shard)
        }
        world.phones = (0..<budget.phones).map { index in
            let cadence = budget.cadence ?? (index % 2 == 0 ? .frequent : .standard)
            return PhoneSlot(
                isRegistered: budget.isOld,
                shard: budget.isApart ? index : 0,
                row: Phone(registration: 0, registeredAt: Clock.past, cadence: cadence),
                isAlive: budget.isOld
            )
        }
        world.registrations = budget.registrations
        world.failures = budget.failures
        world.unknown = budget.unknown
        world.lost = budget.lost
        world.expiries = budget.expiries
        world.removals = budget.removals
        return world
    }

    func checkRest(_ setting: Setting, _ visitor: inout Visitor<Self>) {
        let needed = setting.neededOf[accepted]
        for (index, phone) in phones.enumerated() {
            if phone.isAlive && !phone.isRegistered { visitor.broken(.phoneKept, "phone \(index) is gone") }
            guard phone.isRegistered, phone.isAlive else { continue }
            if phone.hasFailed, let entry = phone.row.entry, entry.isExhausted(needed: Int64(needed)) { continue }
            if phone.shows < needed { visitor.broken(.newest, "phone \(index) shows \(phone.shows) of \(accepted)") }
            if phone.asks && accepted > 0 { visitor.broken(.answered, "phone \(index) registered, and got nothing") }
            let alert = pendingAlert(accepted, setting)
            if alert > 0 && (phone.heard | phone.waived) & (1 << alert) == 0 {
                visitor.broken(.alertNotLost, "alert \(alert) never came to \(index)")
            }
        }
        if setting.budget.rests, let dueAt, dueAt <= Clock.now { visitor.broken(.wakes, "the due row is awake") }
    }

    /// The match as its row says it; if stale, as it was before the newest stamp, or before the newest event, too.
    func match(_ setting: Setting, isStale: Bool = false, withoutEvent: Bool = false) -> StampedMatch {
        var match = StampedMatch()
        for index in 0..<(isStale && withoutEvent ? max(0, stamped - 1) : accepted) {
            switch setting.letters[index] {
            case "a": match.accept(isKey: true, alertExpiresAt: Clock.alertEnd)
            case "k": match.accept(isKey: true)
            case "c": match.accept(isKey: true, takesAlertsBack: true)
            case "e": match.end()
            case "x": match.repeatOnChannels()
            default: match.accept(isKey: false)
            }
        }
        if match.alertExpiresAt != nil && match.alertVersion <= Int64(expired) { match.alertExpiresAt = Clock.past }
        match.stampedVersion = Int64(isStale ? max(0, stamped - 1) : stamped)
        return match
    }

    /// The alert that a push of `version` ought to bring to whoever has not had it.
    func pendingAlert(_ version: Int, _ setting: Setting) -> Int {
        let alert = setting.alertOf[version]
        return alert > expired ? alert : 0
    }

    func isGapRunning(_ shard: Int) -> Bool {
        shards[shard].shard.pacing.standard.routineAt != nil
    }

    /// Whether nobody waits for that send's outcome any more, since its lease is somebody else's.
    func isStray(_ send: Send, _ setting: Setting) -> Bool {
        send.plan.epoch != shards[send.shard].shard.lease.epoch && !setting.isBroken(.lease)
    }

    func isStray(_ doubt: Doubt) -> Bool {
        guard let hold = phones[doubt.phone].row.entry?.hold else { return true }
        return hold.until <= Clock.now || hold.epoch != doubt.plan.epoch
    }
}
