import Core

// What may happen next.
extension PhonesWorld {
    func steps(_ setting: Setting, _ visitor: inout Visitor<Self>) {
        matchSteps(setting, &visitor)
        for shard in shards.indices { shardSteps(shard, setting, &visitor) }
        for index in phones.indices { phoneSteps(index, setting, &visitor) }
        for index in sends.indices { sendSteps(index, setting, &visitor) }
        for index in doubts.indices { doubtSteps(index, setting, &visitor) }
        if registrations > 0 {
            for index in phones.indices { registrationSteps(index, setting, &visitor) }
        }
    }

    private func with(_ change: (inout Self) -> Void) -> Self {
        var next = self
        change(&next)
        return next
    }

    private func matchSteps(_ setting: Setting, _ visitor: inout Visitor<Self>) {
        if accepted < setting.letters.count {
            let next = with {
                $0.accepted += 1
                if !setting.isBroken(.mark) { $0.dueAt = Clock.now }
            }
            visitor.step("event \(setting.letters[accepted])", byItself: false, next)
        }
        if stamped < accepted {
            visitor.step("stamp", byItself: true, with { $0.stamped = $0.accepted })
        }
        if expiries > 0 && pendingAlert(accepted, setting) > 0 {
            let next = with {
                $0.expired = setting.alertOf[accepted]
                $0.expiries -= 1
            }
            visitor.step("the alert expires", byItself: false, next)
        }
        if setting.budget.rests { restStep(setting, &visitor) }
    }

    private func restStep(_ setting: Setting, _ visitor: inout Visitor<Self>) {
        let match = match(setting)
        let made = shards.filter(\.isMade).map(\.shard)
        let isNeeded = made.contains {
            !$0.lease.isHeld(at: Clock.now) && $0.nextSend(match, limits: Clock.limits, now: Clock.now) == .now
        }
        let isAwake = dueAt.map { $0 <= Clock.now } ?? false
        if !isAwake && isNeeded { visitor.broken(.sleepsInTime, "a shard is behind and free") }
        guard isAwake && !isNeeded else { return }
        let wakes = setting.rule.rest(match, made)
        guard wakes.map({ $0 > Clock.now }) ?? true else {
            visitor.broken(.claimsEnd, "the due row does not sleep")
            return
        }
        visitor.step("rest", byItself: true, with { $0.dueAt = wakes })
    }

    private func shardSteps(_ index: Int, _ setting: Setting, _ visitor: inout Visitor<Self>) {
        let slot = shards[index]
        guard slot.isMade else {
            if setting.budget.isLate && stamped < setting.letters.count { return }
            let next = with {
                $0.shards[index] = ShardSlot(isMade: true, shard: setting.rule.newShard(match(setting)))
            }
            visitor.step("shard \(index) is made", byItself: false, next)
            return
        }
        if isGapRunning(index) {
            visitor.step("the gap of shard \(index) is over", byItself: true, with { $0.endGap(of: index) })
        }
        if stamped == accepted && stamped > 0 || setting.isBroken(.stampFirst) && accepted > 0 {
            claimStep(index, setting, &visitor)
        }
        if slot.shard.lease.until != nil && lost > 0 {
            let next = with { world in
                for send in sends where send.shard == index && send.plan.epoch == slot.shard.lease.epoch {
                    for (push, state) in zip(send.plan.pushes, send.states) {
                        world.risk(push, state, Int(send.plan.version), alert: Int(send.plan.alert))
                    }
                }
                world.shards[index].shard.lease.until = nil
                world.wake(at: Clock.leaseEnd)
                world.lost -= 1
            }
            visitor.step("the lease of shard \(index) runs out", byItself: false, next)
        }
    }

    /// The due row wakes when the time comes for which it sleeps.
    mutating func wake(at moment: Moment) {
        if let dueAt, dueAt <= moment { self.dueAt = Clock.now }
    }

    private mutating func endGap(of shard: Int) {
        shards[shard].shard.pacing.standard.routineAt = nil
        for index in phones.indices where phones[index].shard == shard && phones[index].row.entry?.dueAt == Clock.gapEnd
        {
            phones[index].row.entry?.dueAt = Clock.now
        }
        for index in sends.indices where sends[index].shard == shard {
            // A coverage that began before the gap's end goes on from the record without it.
            if sends[index].plan.covered.standard?.isUrgent == true {
                sends[index].plan.covered.standard?.pacing.routineAt = nil
            }
        }
        wake(at: Clock.gapEnd)
    }

    private func phoneSteps(_ index: Int, _ setting: Setting, _ visitor: inout Visitor<Self>) {
        let phone = phones[index]
        guard phone.isRegistered else {
            if phone.row.entry != nil { visitor.broken(.entryHasPhone, "an entry without its phone \(index)") }
            return
        }
        if let entry = phone.row.entry {
            if entry.dueAt == Clock.retryAt {
                visitor.step(
                    "phone \(index) becomes due",
                    byItself: true,
                    with { $0.phones[index].row.entry?.dueAt = Clock.now }
                )
            }
        }
        if removals > 0 {
            let next = with { world in
                // The named exception: what is under way at the removal may come twice, or late.
                for send in sends {
                    for (push, state) in zip(send.plan.pushes, send.states) where push.phone == index {
                        world.risk(push, state, Int(send.plan.version), alert: Int(send.plan.alert))
                    }
                }
                for doubt in doubts where doubt.phone == index {
                    world.risk(
                        doubt.plan.pushes[0],
                        doubt.state,
                        Int(doubt.plan.version),
                        alert: Int(doubt.plan.alert)
                    )
                }
                world.phones[index].isRegistered = false
                world.phones[index].isAlive = false
                world.phones[index].asks = false
                if !setting.isBroken(.entryRow) { world.phones[index].row.entry = nil }
                world.removals -= 1
            }
            visitor.step("phone \(index) is removed", byItself: false, next)
        }
    }

    private func sendSteps(_ index: Int, _ setting: Setting, _ visitor: inout Visitor<Self>) {
        let send = sends[index]
        let isStray = isStray(send, setting)
        let version = Int(send.plan.version)
        if setting.isBroken(.order), version < stamped, send.states.allSatisfy({ $0 == .waiting }) {
            // The rows were read first: they get whatever is the newest version by then.
            visitor.step(
                "the version is read",
                byItself: true,
                with { $0.sends[index].plan.version = Int64(stamped) }
            )
        }
        let mayWithdraw =
            setting.budget.withdraws && !isStray && setting.rule.isWithdrawn(send.plan, match(setting))
        for (place, push) in send.plan.pushes.enumerated() {
            answerSteps(
                of: push,
                send.states[place],
                version,
                alert: Int(send.plan.alert),
                isStray: isStray,
                setting,
                &visitor
            ) { $0.sends[index].states[place] = $1 }
            if mayWithdraw
                && (send.states[place] == .waiting || send.states[place] == .came && setting.isBroken(.written))
            {
                visitor.step(
                    "push \(version) to \(push.phone) is withdrawn",
                    byItself: true,
                    with { $0.sends[index].states[place] = .withdrawn }
                )
            }
        }
        let isOpen = send.states.contains { $0.isOpen }
        guard !isStray else {
            if setting.isBroken(.epoch) { commitStep(index, setting, stays: false, byItself: false, &visitor) }
            if !send.states.contains(.waiting) {
                visitor.step("the sender that lost its lease ends", byItself: true, with { $0.sends.remove(at: index) })
            }
            return
        }
        commitStep(index, setting, stays: false, byItself: !isOpen, &visitor)
        if setting.budget.stays && send.plan.covers
            && send.states.contains(where: {
                $0 == .failed || $0 == .exhausted || $0 == .unknown || $0 == .withdrawn
            })
        {
            commitStep(index, setting, stays: true, byItself: false, &visitor)
        }
    }

    private func doubtSteps(_ index: Int, _ setting: Setting, _ visitor: inout Visitor<Self>) {
        let doubt = doubts[index]
        let isStray = isStray(doubt) && !setting.isBroken(.lease)
        let version = Int(doubt.plan.version)
        answerSteps(
            of: doubt.plan.pushes[0],
            doubt.state,
            version,
            alert: Int(doubt.plan.alert),
            isStray: isStray,
            setting,
            &visitor
        ) { $0.doubts[index].state = $1 }
        if !doubt.state.isOpen || isStray && doubt.state == .came {
            settleSteps(index, setting, &visitor)
        }
        if lost > 0 && !isStray {
            let next = with { world in
                world.risk(doubt.plan.pushes[0], doubt.state, version, alert: Int(doubt.plan.alert))
                world.phones[doubt.phone].row.entry?.hold = nil
                if phones[doubt.phone].row.entry?.dueAt == Clock.holdEnd {
                    world.phones[doubt.phone].row.entry?.dueAt = Clock.now
                }
                world.lost -= 1
            }
            visitor.step("the hold of \(doubt.phone) runs out", byItself: false, next)
        }
    }

    /// What may become of a push.
    private func answerSteps(
        of push: SendPlan.Push,
        _ state: PushState,
        _ version: Int,
        alert: Int,
        isStray: Bool,
        _ setting: Setting,
        _ visitor: inout Visitor<Self>,
        _ set: (inout Self, PushState) -> Void
    ) {
        guard state.isOpen else { return }
        let name = "push \(version) to \(push.phone)"
        func step(_ what: String, _ new: PushState, _ change: (inout Self) -> Void) {
            let next = with {
                change(&$0)
                set(&$0, new)
            }
            visitor.step("\(name) \(what)", byItself: true, next)
        }
        guard state == .waiting else {
            if isStray { return }
            step("is accepted", .accepted) { _ in }
            if unknown > 0 {
                step("came, and nobody knows", .unknown) {
                    $0.risk(push, state, version, alert: alert)
                    $0.unknown -= 1
                    if push.registration == phones[push.phone].row.registration {
                        $0.phones[push.phone].hasFailed = true
                    }
                }
            }
            return
        }
        let arrived: PushState = isStray ? .gone : .came
        var came = self
        let fault = came.receive(push, version, alert: alert, isStray: isStray, setting)
        if let fault { visitor.broken(fault.invariant, fault.text) }
        step("comes", arrived) { $0 = came }
        let phone = phones[push.phone]
        let isCurrent = push.registration == phone.row.registration
        func fail(_ what: String, _ new: PushState, _ change: (inout Self) -> Void = { _ in }) {
            step(what, new) {
                change(&$0)
                if isCurrent { $0.phones[push.phone].hasFailed = true }
            }
        }
        if push.registration < phone.tokenSince {
            step("is accepted for a former token", arrived) {
                if push.carriesAlert { $0.phones[push.phone].waived |= 1 << alert }
            }
        }
        if isStray {
            step("dies", .gone) { _ in }
            return
        }
        if failures > 0 {
            fail("fails", .failed) { $0.failures -= 1 }
            if setting.budget.exhausts { fail("fails for good", .exhausted) { $0.failures -= 1 } }
            if setting.budget.dies {
                step("is for a dead token", .dead) {
                    $0.failures -= 1
                    if push.registration >= phone.tokenSince { $0.phones[push.phone].isAlive = false }
                }
            }
        }
        if unknown > 0 {
            fail("is not heard of", .unknown) {
                $0.risk(push, state, version, alert: alert)
                $0.unknown -= 1
            }
        }
    }
}
