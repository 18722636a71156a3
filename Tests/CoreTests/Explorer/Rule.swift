import Core

/// The functions that are explored: the engine's own. A mutant puts something broken around one of them.
struct Rule {
    var send: (StampedMatch, Shard, [Phone]) -> SendPlan? = { match, shard, phones in
        SendPlan(match: match, shard: shard, phones: phones, limits: Clock.limits, now: Clock.now)
    }
    var lock: (SendPlan, [Resolution], Bool) -> [Int] = { plan, resolutions, stays in
        plan.phonesToLock(resolutions, shardStays: stays)
    }
    var commit: (SendPlan, [Resolution], Shard, [Int: Phone], Bool) -> CommitPlan? = {
        plan,
        resolutions,
        shard,
        phones,
        stays in
        CommitPlan(
            plan,
            resolutions: resolutions,
            shard: shard,
            phones: phones,
            holdUntil: Clock.holdEnd,
            shardStays: stays,
            now: Clock.now
        )
    }
    var settle: (SendPlan, Resolution, Phone?, Shard, StampedMatch) -> PhoneChange? = {
        plan,
        resolution,
        phone,
        _,
        match in
        Settlement.change(
            of: plan.pushes[0],
            in: plan,
            resolution: resolution,
            phone: phone,
            match: match,
            now: Clock.now
        )
    }
    var register: (Registering) -> RegistrationPlan = { facts in
        RegistrationPlan(
            shown: facts.shown,
            cadence: facts.cadence,
            isNewToken: facts.isNewToken,
            former: facts.former,
            reached: facts.reached,
            match: facts.match,
            now: Clock.now
        )
    }
    var newShard: (StampedMatch) -> Shard = { Shard(newIn: $0) }
    var nextSend: (Shard, StampedMatch) -> NextSend = { $0.nextSend($1, limits: Clock.limits, now: Clock.now) }
    var isWithdrawn: (SendPlan, StampedMatch) -> Bool = { $0.isWithdrawn(by: $1) }
    var rest: (StampedMatch, [Shard]) -> Moment? = { match, shards in
        Rest.dueAt(match: match, shards: shards, limits: Clock.limits, now: Clock.now)
    }
    var wakeAfterCommit: (Moment?) -> Moment? = { Rest.dueAt(afterCommit: $0, now: Clock.now) }

    struct Registering {
        var shown: Int64?
        var cadence: Cadence
        var isNewToken: Bool
        var former: RegistrationPlan.Former?
        var reached: Int64
        var match: StampedMatch
    }
}

/// Time does not pass in the explorer. Whatever ends at some time ends at any: by a step that moves it into the past.
enum Clock {
    static let now = Moment(seconds: 1_790_000_000)
    static let past = now - .seconds(1)
    static let leaseEnd = now + .seconds(30)
    static let holdEnd = now + .seconds(40)
    static let retryAt = now + .seconds(50)
    static let alertEnd = now + .seconds(120)
    /// The gap of the standard cadence; the frequent one has none.
    static let gapEnd = now + .seconds(60)
    static let limits = PerCadence(
        frequent: PacingLimits(gap: .zero, urgentPerHour: 1000),
        standard: PacingLimits(gap: .seconds(60), urgentPerHour: 1000)
    )
}
