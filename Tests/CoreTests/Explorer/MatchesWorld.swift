import Core

/// Two matches of an app with a phone each, which share APNs, its outage, and the app's pause. Each has a due row, and no
/// due row is looked at before its time.
struct MatchesWorld {
    struct Setting {
        /// One letter a version: k key, r routine, e end. Both matches tell it.
        var story: [Character]
        var outages = 1
        var failures = 0
        var pauses = 0
        var lost = 0
        var breaks: Set<Break> = []

        init(_ story: String, outages: Int = 1, failures: Int = 0, pauses: Int = 0, lost: Int = 0) {
            self.story = Array(story)
            (self.outages, self.failures, self.pauses, self.lost) = (outages, failures, pauses, lost)
        }
    }

    /// What a mutant leaves out.
    enum Break { case probe, probeRest, forward, postpone, resume, pause, ahead }

    struct Match {
        var accepted = 0
        var dueAt: Moment? = Clock.now
        var shard = Shard()
        var entry: Entry?
        var shows = 0
        /// A send under way, and whether its push was accepted; nil: not answered yet.
        var plan: SendPlan?
        var isProbe = false
        var outcome: Bool?
    }

    var matches = [Match(), Match()]
    /// When the outage that stands is probed next; nil: there is none.
    var nextProbeAt: Moment?
    var isPaused = false
    /// APNs takes nothing.
    var isDown = false
    var outages = 0
    var failures = 0
    var pauses = 0
    var lost = 0
}

extension MatchesWorld: World {
    static let probeAt = Clock.now + OutageRule.pauses[2]
    static let probeEnd = Clock.now + OutageRule.probeLease

    static func first(_ setting: Setting) -> Self {
        Self(outages: setting.outages, failures: setting.failures, pauses: setting.pauses, lost: setting.lost)
    }

    private func head(_ index: Int, _ setting: Setting) -> StampedMatch {
        var head = StampedMatch()
        for letter in setting.story.prefix(matches[index].accepted) {
            if letter == "e" { head.end() } else { head.accept(isKey: letter == "k") }
        }
        head.stamp()
        return head
    }

    private func with(_ change: (inout Self) -> Void) -> Self {
        var next = self
        change(&next)
        return next
    }

    func steps(_ setting: Setting, _ visitor: inout Visitor<Self>) {
        if isDown {
            visitor.step("APNs is back", byItself: true, with { $0.isDown = false })
        } else if outages > 0 {
            let next = with {
                $0.isDown = true
                $0.outages -= 1
            }
            visitor.step("APNs is down", byItself: false, next)
        }
        // While a probe is under way its deadline does not pass.
        if let nextProbeAt, nextProbeAt > Clock.now, !matches.contains(where: { $0.plan != nil && $0.isProbe }) {
            let next = with { world in
                world.nextProbeAt = Clock.now
                world.wake(at: nextProbeAt)
            }
            visitor.step("it is time for a probe", byItself: true, next)
        }
        if isPaused {
            let next = with { world in
                world.isPaused = false
                if setting.breaks.contains(.resume) { return }
                for index in world.matches.indices {
                    world.matches[index].dueAt = Clock.now
                    world.matches[index].entry?.bringForward(at: Clock.now)
                }
            }
            visitor.step("the app is resumed", byItself: true, next)
        } else if pauses > 0 {
            let next = with {
                $0.isPaused = true
                $0.pauses -= 1
            }
            visitor.step("the app is paused", byItself: false, next)
        }
        for index in matches.indices { matchSteps(index, setting, &visitor) }
    }

    private mutating func wake(at moment: Moment) {
        for index in matches.indices {
            if let due = matches[index].dueAt, due <= moment { matches[index].dueAt = Clock.now }
            if let due = matches[index].entry?.dueAt, due <= moment { matches[index].entry?.dueAt = Clock.now }
        }
    }

    private func matchSteps(_ index: Int, _ setting: Setting, _ visitor: inout Visitor<Self>) {
        let match = matches[index]
        let head = head(index, setting)
        if match.accepted < setting.story.count {
            let next = with {
                $0.matches[index].accepted += 1
                $0.matches[index].dueAt = Clock.now
            }
            visitor.step("event \(setting.story[match.accepted]) of match \(index)", byItself: false, next)
        }
        if match.entry?.dueAt == Clock.retryAt {
            visitor.step(
                "match \(index)'s phone becomes due",
                byItself: true,
                with { $0.matches[index].entry?.dueAt = Clock.now }
            )
        }
        if let plan = match.plan {
            sendSteps(index, plan, setting, &visitor)
            if lost > 0 {
                let next = with {
                    $0.matches[index].plan = nil
                    $0.matches[index].outcome = nil
                    $0.matches[index].isProbe = false
                    $0.matches[index].shard.lease.until = nil
                    if let due = $0.matches[index].dueAt, due <= Clock.leaseEnd { $0.matches[index].dueAt = Clock.now }
                    $0.lost -= 1
                }
                visitor.step("the sender of match \(index) dies, and its lease runs out", byItself: false, next)
            }
            return
        }
        let behind = match.shard.nextSend(head, limits: Clock.limits, now: Clock.now) == .now
        let isAwake = match.dueAt.map { $0 <= Clock.now } ?? false
        let mayGo = !isPaused || head.isEnd
        if behind && !isAwake && mayGo && nextProbeAt == nil {
            visitor.broken(.sleepsInTime, "match \(index) is behind")
        }
        let isEntryDue = match.entry?.isDue(at: Clock.now) ?? false
        guard isEntryDue || isAwake && behind else {
            if isAwake { restStep(index, head, setting, &visitor) }
            return
        }
        if !mayGo && !setting.breaks.contains(.pause) {
            // A claim finds the pause: nothing stays due.
            let next = with {
                $0.matches[index].dueAt = nil
                $0.matches[index].entry?.postpone(until: nil, at: Clock.now)
            }
            visitor.step("match \(index) is found paused", byItself: true, next)
            return
        }
        let gate = OutageRule.gate(nextProbe: nextProbeAt.map { $0 - Clock.now }, isUntriedKey: false)
        switch setting.breaks.contains(.probe) ? .send : gate {
        case .send: claim(index, head, isProbe: false, setting, &visitor)
        case .probe: claim(index, head, isProbe: true, setting, &visitor)
        case .wait(let duration):
            if isAwake { restStep(index, head, setting, &visitor) }
            if isEntryDue && !setting.breaks.contains(.postpone) {
                let next = with {
                    $0.matches[index].entry?.postpone(until: Clock.now + duration, at: Clock.now)
                }
                visitor.step("match \(index)'s phone waits for a probe", byItself: true, next)
            } else if isEntryDue {
                visitor.broken(.claimsEnd, "match \(index) is claimed during an outage, again and again")
            }
        }
    }

    private func claim(
        _ index: Int,
        _ head: StampedMatch,
        isProbe: Bool,
        _ setting: Setting,
        _ visitor: inout Visitor<Self>
    ) {
        var shard = matches[index].shard
        shard.lease = Lease(epoch: shard.lease.epoch + 1, until: Clock.leaseEnd)
        let phone = Phone(
            registration: 0,
            registeredAt: Clock.past,
            cadence: .frequent,
            entry: matches[index].entry
        )
        guard var plan = SendPlan(match: head, shard: shard, phones: [phone], limits: Clock.limits, now: Clock.now)
        else { return }
        if isPaused && !head.isEnd && !plan.pushes.isEmpty { visitor.broken(.pauseKept, "\(plan.version) goes out") }
        if isProbe { plan = plan.probe() }
        let isOther = matches.contains { $0.plan.map { !$0.pushes.isEmpty } ?? false && $0.isProbe }
        if nextProbeAt != nil && (isOther || !isProbe) && !plan.pushes.isEmpty {
            visitor.broken(.routeProbed, "match \(index) sends beside a probe")
        }
        let next = with {
            if isProbe { $0.nextProbeAt = Clock.now + OutageRule.probeLease }
            $0.matches[index].shard = shard
            $0.matches[index].plan = plan
            $0.matches[index].isProbe = isProbe
        }
        visitor.step("send \(plan.version) of match \(index)", byItself: true, next)
    }

    private func sendSteps(_ index: Int, _ plan: SendPlan, _ setting: Setting, _ visitor: inout Visitor<Self>) {
        guard matches[index].outcome != nil || plan.pushes.isEmpty else {
            if !isDown {
                if matches[index].shows >= Int(plan.version) && lost == setting.lost {
                    visitor.broken(.versionOnce, "version \(plan.version) twice to match \(index)")
                }
                let next = with {
                    $0.matches[index].outcome = true
                    $0.matches[index].shows = max($0.matches[index].shows, Int(plan.version))
                }
                visitor.step("push \(plan.version) of match \(index) is accepted", byItself: true, next)
            }
            if isDown || failures > 0 {
                let next = with {
                    $0.matches[index].outcome = false
                    if !isDown { $0.failures -= 1 }
                }
                visitor.step("push \(plan.version) of match \(index) fails", byItself: true, next)
            }
            return
        }
        var next = self
        let isAccepted = matches[index].outcome == true
        let resolutions: [Resolution] =
            plan.pushes.isEmpty ? [] : [isAccepted ? .accepted : .failed(.later(after: nil))]
        if !plan.pushes.isEmpty {
            next.nextProbeAt = probe(after: plan, isAccepted: isAccepted, isProbe: matches[index].isProbe)
        }
        let stays = !plan.pushes.isEmpty && (matches[index].isProbe || !isAccepted && next.nextProbeAt != nil)
        let phone = Phone(
            registration: 0,
            registeredAt: Clock.past,
            cadence: .frequent,
            entry: matches[index].entry
        )
        let commit = CommitPlan(
            plan,
            resolutions: resolutions,
            shard: matches[index].shard,
            phones: [0: phone],
            holdUntil: Clock.holdEnd,
            shardStays: stays && !setting.breaks.contains(.ahead),
            now: Clock.now
        )
        guard let commit else { return }
        next.matches[index].shard = commit.shard
        for change in commit.changes {
            if case .writeEntry(let entry) = change.change {
                next.matches[index].entry = entry
            } else {
                next.matches[index].entry = nil
            }
        }
        next.matches[index].dueAt = Rest.dueAt(afterCommit: matches[index].dueAt, now: Clock.now)
        next.matches[index].plan = nil
        next.matches[index].outcome = nil
        next.matches[index].isProbe = false
        if nextProbeAt != nil && next.nextProbeAt == nil {
            for other in matches.indices {
                if !setting.breaks.contains(.forward) { next.matches[other].dueAt = Clock.now }
                next.matches[other].entry?.bringForward(at: Clock.now)
            }
        }
        visitor.step("commit \(plan.version) of match \(index)", byItself: true, next)
    }

    /// When the route is probed next, by the outcome of a push.
    private func probe(after plan: SendPlan, isAccepted: Bool, isProbe: Bool) -> Moment? {
        if isAccepted { return nil }
        let tally = RouteTally([Disposition.retry(.later(after: nil))])
        let begins = OutageRule.isOutage(tally, isWhole: plan.covers, sinceAnswer: nil)
        return isProbe || nextProbeAt == nil && begins ? Self.probeAt : nextProbeAt
    }

    private func restStep(_ index: Int, _ head: StampedMatch, _ setting: Setting, _ visitor: inout Visitor<Self>) {
        let wakes = Rest.dueAt(
            match: head,
            shards: [matches[index].shard],
            limits: Clock.limits,
            probeAt: setting.breaks.contains(.probeRest) ? nil : nextProbeAt,
            isPaused: isPaused,
            now: Clock.now
        )
        if let wakes, wakes <= Clock.now {
            visitor.broken(.claimsEnd, "match \(index) does not sleep")
            return
        }
        visitor.step("match \(index) rests", byItself: true, with { $0.matches[index].dueAt = wakes })
    }

    func checkRest(_ setting: Setting, _ visitor: inout Visitor<Self>) {
        for (index, match) in matches.enumerated() where match.shows < match.accepted {
            visitor.broken(.newest, "match \(index)'s phone shows \(match.shows) of \(match.accepted)")
        }
    }
}
