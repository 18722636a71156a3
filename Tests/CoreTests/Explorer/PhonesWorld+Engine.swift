import Core

// The engine: it reads facts, calls the rule, and writes what it says.
extension PhonesWorld {
    private func isHere(_ index: Int, in shard: Int, _ setting: Setting) -> Bool {
        phones[index].isRegistered && phones[index].shard == shard || setting.isBroken(.missing)
    }

    private func isClaimable(_ index: Int, _ match: StampedMatch, _ setting: Setting) -> Bool {
        let shard = shards[index].shard
        if shard.lease.isHeld(at: Clock.now) && !(setting.isBroken(.lease) && sends.count < 2) { return false }
        let hasDueEntry = phones.contains {
            $0.isRegistered && $0.shard == index && $0.row.entry?.isDue(at: Clock.now) ?? false
        }
        let isAwake = !setting.budget.rests || dueAt.map { $0 <= Clock.now } ?? false
        return hasDueEntry || isAwake && setting.rule.nextSend(shard, match) == .now
    }

    func claimStep(_ index: Int, _ setting: Setting, _ visitor: inout Visitor<Self>) {
        let match = match(setting)
        guard isClaimable(index, match, setting) else {
            checkIdle(index, setting, &visitor)
            return
        }
        var shard = shards[index].shard
        shard.lease = Lease(epoch: shard.lease.epoch + 1, until: Clock.leaseEnd)
        var numbers: [Int] = []
        var rows: [Phone] = []
        for number in phones.indices where phones[number].isRegistered && phones[number].shard == index {
            numbers.append(number)
            rows.append(phones[number].row)
        }
        guard var plan = setting.rule.send(match, shard, rows) else { return }
        if plan.alert != pendingAlert(Int(plan.version), setting) {
            visitor.broken(.alertPending, "alert \(plan.alert) is not pending")
        }
        for place in plan.pushes.indices { plan.pushes[place].phone = numbers[plan.pushes[place].phone] }
        for place in plan.leftOut.indices { plan.leftOut[place].phone = numbers[plan.leftOut[place].phone] }
        check(plan, of: shard, numbers, setting, &visitor)

        var next = self
        next.shards[index].shard = shard
        next.sends.append(
            Send(shard: index, plan: plan, states: Array(repeating: .waiting, count: plan.pushes.count))
        )
        if plan.isEmpty {
            var after = next
            after.commit(sends.count, setting, stays: false, &visitor)
            if after.isClaimable(index, match, setting) {
                visitor.broken(.claimsEnd, "shard \(index) is claimed in vain, again and again")
            }
        }
        visitor.step("send \(stamped) of shard \(index)", byItself: true, next)
    }

    /// Whether somebody lacks a key version in a shard that nobody sends to, or will.
    private func checkIdle(_ index: Int, _ setting: Setting, _ visitor: inout Visitor<Self>) {
        let shard = shards[index].shard
        guard !shard.lease.isHeld(at: Clock.now) else { return }
        let key = Int64(setting.keyOf[stamped])
        for (number, phone) in phones.enumerated() where phone.isRegistered && phone.shard == index {
            let entry = phone.row.entry
            if entry?.isHeld(at: Clock.now) ?? false { continue }
            let had = entry?.version ?? shard.reached[phone.row.cadence]
            if key > max(had, entry?.tried ?? 0) { visitor.broken(.keyServed, "nobody brings key \(key) to \(number)") }
        }
    }

    /// Whether a send gives everybody what is theirs now, as its facts say.
    private func check(
        _ plan: SendPlan,
        of shard: Shard,
        _ numbers: [Int],
        _ setting: Setting,
        _ visitor: inout Visitor<Self>
    ) {
        let version = Int(plan.version)
        let (needed, key) = (Int64(setting.neededOf[version]), Int64(setting.keyOf[version]))
        for number in numbers {
            let row = phones[number].row
            if let hold = row.entry?.hold, hold.until > Clock.now { continue }
            let had = row.entry?.version ?? shard.reached[row.cadence]
            let isExhausted = row.entry?.isExhausted(needed: needed) ?? false
            let waits = row.entry?.dueAt.map { $0 > Clock.now } ?? false
            let tried = waits || isExhausted ? max(had, row.entry?.tried ?? 0) : had
            if plan.pushes.contains(where: { $0.phone == number }) {
                let isInGap = row.cadence == .standard && shard.pacing.standard.routineAt != nil
                if had >= needed { visitor.broken(.noNeedlessPush, "\(number) has had \(needed)") }
                if isInGap && key <= had { visitor.broken(.gapKept, "routine \(version) to \(number) in the gap") }
                if waits && key <= tried { visitor.broken(.dueKept, "\(version) to \(number) before it is due") }
                if isExhausted { visitor.broken(.attemptsKept, "\(version) to \(number) beyond its attempts") }
            } else if key > tried {
                visitor.broken(.keyServed, "key \(key) leaves \(number) out")
            }
        }
    }

    func commitStep(
        _ index: Int,
        _ setting: Setting,
        stays: Bool,
        byItself: Bool,
        _ visitor: inout Visitor<Self>
    ) {
        var next = self
        next.commit(index, setting, stays: stays, &visitor)
        let name = "commit \(sends[index].plan.version) of shard \(sends[index].shard)"
        visitor.step(name + (stays ? ", which stays" : ""), byItself: byItself, next)
    }

    private mutating func commit(_ index: Int, _ setting: Setting, stays: Bool, _ visitor: inout Visitor<Self>) {
        let send = sends.remove(at: index)
        let resolutions = send.states.map(\.resolution)
        var rows: [Int: Phone] = [:]
        for number in setting.rule.lock(send.plan, resolutions, stays) where isHere(number, in: send.shard, setting) {
            rows[number] = phones[number].row
        }
        guard let plan = setting.rule.commit(send.plan, resolutions, shards[send.shard].shard, rows, stays) else {
            return
        }
        if !plan.lines.allSatisfy(\.isBalanced)
            || plan.lines.reduce(0, { $0 + $1.wanted }) != send.plan.pushes.count
        {
            visitor.broken(.countsBalance, "the lines of version \(send.plan.version)")
        }
        shards[send.shard].shard = plan.shard
        for change in plan.changes { write(change.change, for: change.phone) }
        for (push, state) in zip(send.plan.pushes, send.states) where state.isOpen {
            var rest = send.plan
            rest.pushes = [push]
            rest.leftOut = []
            doubts.append(Doubt(phone: push.phone, shard: send.shard, plan: rest, state: state))
        }
        dueAt = setting.rule.wakeAfterCommit(dueAt)
        // The gap for which the plan let an entry wait may be over by now.
        if !isGapRunning(send.shard) {
            for number in phones.indices
            where phones[number].shard == send.shard && phones[number].row.entry?.dueAt == Clock.gapEnd {
                phones[number].row.entry?.dueAt = Clock.now
            }
        }
    }

    func settleSteps(_ index: Int, _ setting: Setting, _ visitor: inout Visitor<Self>) {
        let doubt = doubts[index]
        let push = doubt.plan.pushes[0]
        let line = DeliveryLine(settling: push, in: doubt.plan, as: doubt.state.resolution)
        if !line.isBalanced { visitor.broken(.countsBalance, "the settlement of version \(doubt.plan.version)") }
        for isStale in setting.isBroken(.settleLock) && stamped > 0 ? [false, true] : [false] {
            var next = self
            next.doubts.remove(at: index)
            let change = setting.rule.settle(
                doubt.plan,
                doubt.state.resolution,
                isHere(doubt.phone, in: doubt.shard, setting) ? phones[doubt.phone].row : nil,
                shards[doubt.shard].shard,
                match(setting, isStale: isStale, withoutEvent: true)
            )
            if let change { next.write(change, for: doubt.phone) }
            visitor.step("settle \(doubt.plan.version) to \(doubt.phone)", byItself: true, next)
        }
    }

    private mutating func write(_ change: PhoneChange, for phone: Int) {
        switch change {
        case .writeEntry(let entry):
            phones[phone].row.entry = entry
        case .deleteEntry:
            phones[phone].row.entry = nil
        case .removePhone, .setAside:
            phones[phone].isRegistered = false
            phones[phone].row.entry = nil
        }
    }
}

extension PhonesWorld.PushState {
    var resolution: Resolution {
        switch self {
        case .waiting, .came: .unanswered
        case .accepted: .accepted
        case .failed: .failed(.later(after: .seconds(50)))
        case .exhausted: .exhausted(reason: "")
        case .unknown, .gone: .failed(.unknown)
        case .withdrawn: .withdrawn
        case .dead: .dead(asOf: nil)
        }
    }
}
