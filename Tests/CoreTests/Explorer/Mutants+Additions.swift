import Core

extension Mutant {
    /// The clauses of what the model left out: due times, the due row, holds that run out, dead tokens, repeats.
    static let additions: [Mutant] = claims + registrations + stamps + rests

    private static let claims: [Mutant] = [
        Mutant(
            "gap-due",
            "an entry that a gap holds back becomes due at the gap's end",
            "ar",
            "registrations 1",
            [.claimsEnd]
        ) {
            $0.afterCommit { phone, change, facts, _ in
                guard facts.plan.leftOut.contains(where: { $0.phone == phone }) else { return change }
                return change.entry { $0.dueAt = facts.phones[phone]?.entry?.dueAt }
            }
        },
        Mutant(
            "exhausted-due",
            "an exhausted entry is not due",
            "r",
            "failures 1, exhausts",
            [.claimsEnd]
        ) {
            $0.afterSend { plan, _, _, _ in plan.leftOut.removeAll { $0.reason == .exhausted } }
        },
        Mutant(
            "current-due",
            "an entry that lacks nothing is not due, or goes",
            "r",
            "",
            [.claimsEnd]
        ) {
            $0.afterSend { plan, _, _, _ in plan.leftOut.removeAll { $0.reason == .upToDate } }
        },
        Mutant(
            "lock-entry",
            "a commit locks the phones that had an entry",
            "ar",
            "registrations 1",
            [.alertNotOvertaken]
        ) {
            let rule = $0.lock
            $0.lock = { plan, resolutions, stays in
                let had = plan.pushes.filter(\.hasEntry).map(\.phone)
                return rule(plan, resolutions, stays).filter { !had.contains($0) }
            }
        },
        Mutant(
            "settle-due",
            "a settled entry is due at once",
            "ar",
            "failures 1",
            [.newest, .keyServed]
        ) {
            $0.afterSettlement { change, _, resolution, _, _ in
                if case .failed = resolution { return change }
                return change.entry { $0.dueAt = nil }
            }
        },
        Mutant(
            "settle-key",
            "also after a failure, if it lacks a key that was not tried",
            "ra",
            "failures 1",
            [.keyServed]
        ) {
            $0.afterSettlement { change, plan, resolution, phone, _ in
                guard case .failed = resolution, phone.registration == plan.pushes[0].registration else {
                    return change
                }
                return change.entry { $0.dueAt = Clock.retryAt }
            }
        },
        Mutant(
            "settle-lock",
            "settlements and stamps exclude each other",
            "ra",
            "failures 1",
            [.keyServed],
            breaks: [.settleLock]
        ),
        Mutant(
            "settle-new",
            "a settlement of a former registration makes the entry due",
            "r",
            "registrations 1, failures 1",
            [.newest, .answered]
        ) {
            $0.afterSettlement { change, plan, _, phone, _ in
                guard phone.registration != plan.pushes[0].registration else { return change }
                return change.entry { $0.dueAt = nil }
            }
        },
        Mutant("hold-due", "a held entry becomes due when its hold ends", "r", "lost 1", [.newest]) {
            $0.afterCommit { _, change, _, _ in
                change.entry { if $0.hold != nil { $0.dueAt = nil } }
            }
        },
        Mutant(
            "keep-hold",
            "a registration keeps the hold",
            "ar",
            "registrations 1",
            [.versionOnce, .alertOnce]
        ) {
            $0.afterRegistration { plan, _ in
                if plan.entry?.hold != nil { plan.entry?.dueAt = Clock.now }
                plan.entry?.hold = nil
            }
        },
        Mutant(
            "register-due",
            "a registration that lacks the version makes its entry due",
            "r",
            "registrations 1",
            [.newest, .answered]
        ) {
            $0.afterRegistration { plan, _ in
                if plan.entry?.hold == nil { plan.entry?.dueAt = nil }
            }
        },
        Mutant(
            "register-anew",
            "attempts start anew with a registration",
            "r",
            "registrations 1, failures 1, exhausts",
            [.newest, .answered]
        ) {
            $0.afterRegistration { plan, facts in
                plan.entry?.attempts = facts.former?.entry?.attempts ?? 0
            }
        },
        Mutant(
            "dead-former",
            "a phone that registered since is not removed for its former token",
            "r",
            "registrations 1, failures 1, dies",
            [.phoneKept]
        ) {
            $0.beforeCommit { facts in
                for (push, resolution) in zip(facts.plan.pushes, facts.resolutions) {
                    if case .dead = resolution { facts.phones[push.phone]?.registration = push.registration }
                }
            }
        },
        Mutant(
            "counts",
            "a push without an outcome is counted as held",
            "r",
            "",
            [.countsBalance]
        ) {
            let rule = $0.commit
            $0.commit = { plan, resolutions, shard, phones, stays in
                var commit = rule(plan, resolutions, shard, phones, stays)
                for index in commit?.lines.indices ?? 0..<0 { commit?.lines[index].held = 0 }
                return commit
            }
        },
    ]

    private static let registrations: [Mutant] = [
        Mutant(
            "register-key",
            "a registration does not wait for a retry if it lacks a key that was not tried",
            "rra",
            "registrations 1, failures 1",
            [.keyServed]
        ) {
            $0.afterRegistration { plan, facts in
                guard let former = facts.former, let entry = former.entry, entry.tried > 0, entry.hold == nil else {
                    return
                }
                guard !facts.isNewToken, former.cadence == facts.cadence, entry.dueAt == Clock.retryAt else { return }
                plan.entry?.dueAt = Clock.retryAt
            }
        }
    ]

    private static let stamps: [Mutant] = [
        Mutant(
            "stamp-first",
            "only a stamped version goes out",
            "ra",
            "new, registrations 1",
            [.newest],
            breaks: [.stampFirst]
        ) {
            let rule = $0.send
            $0.send = { match, shard, phones in
                var match = match
                match.stamp()
                return rule(match, shard, phones)
            }
        },
        Mutant(
            "stamped-alert",
            "a newcomer waives the alerts of stamped versions only",
            "ra",
            "new, registrations 1",
            [.alertNotOvertaken, .alertNotLost]
        ) {
            let rule = $0.register
            $0.register = { facts in
                var plan = rule(facts)
                if facts.former == nil && facts.shown == nil { plan.entry?.alert = facts.match.alertVersion }
                return plan
            }
        },
        Mutant(
            "needed",
            "a repeat for channels goes to no phone",
            "ax",
            "failures 1",
            [.noNeedlessPush]
        ) {
            let rule = $0.send
            $0.send = { match, shard, phones in
                var match = match
                match.neededVersion = match.version
                return rule(match, shard, phones)
            }
            let next = $0.nextSend
            $0.nextSend = { shard, match in
                var match = match
                match.neededVersion = match.version
                return next(shard, match)
            }
        },
        Mutant(
            "expired",
            "an alert that has expired, or was taken back, is not sent",
            "acr",
            "failures 1",
            [.alertPending]
        ) {
            $0.afterSend { plan, match, _, _ in plan.alert = match.alertVersion }
        },
    ]

    private static let rests: [Mutant] = [
        Mutant(
            "mark",
            "an event wakes the due row",
            "rr",
            "rests",
            [.sleepsInTime, .newest],
            breaks: [.mark]
        ),
        Mutant(
            "rest-lease",
            "the due row wakes when a lease ends",
            "r",
            "rests, lost 1",
            [.sleepsInTime, .newest]
        ) {
            $0.rest = { match, shards in
                let free = shards.filter { !$0.lease.isHeld(at: Clock.now) }
                return Rest.dueAt(match: match, shards: free, limits: Clock.limits, now: Clock.now)
            }
        },
        Mutant(
            "rest-gap",
            "the due row wakes when a gap ends",
            "r",
            "standard, rests",
            [.sleepsInTime, .newest]
        ) {
            let rule = $0.rest
            $0.rest = { match, shards in rule(match, shards).flatMap { $0 == Clock.gapEnd ? nil : $0 } }
        },
        Mutant(
            "rest-earliest",
            "the due row wakes at the earliest of them",
            "r",
            "shards 2, phones 2, standard, apart, rests, lost 1",
            [.sleepsInTime]
        ) {
            let rule = $0.rest
            $0.rest = { match, shards in
                shards.compactMap { rule(match, [$0]) }.max()
            }
        },
        Mutant(
            "rest-commit",
            "a commit wakes the due row if it sleeps until some time",
            "rr",
            "rests",
            [.sleepsInTime, .newest]
        ) {
            $0.wakeAfterCommit = { $0 }
        },
    ]
}
