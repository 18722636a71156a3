import Core

extension Mutant {
    /// The clauses of sends, commits, registrations and shards, one by one.
    static let ofModel: [Mutant] = sending + committing + registering + settling + making

    private static let sending: [Mutant] = [
        Mutant(
            "lease",
            "one send at a time",
            "ar",
            "registrations 1, failures 1",
            [.versionOnce],
            breaks: [.lease]
        ) {
            $0.beforeCommit { $0.shard.lease.epoch = $0.plan.epoch }
        },
        Mutant(
            "order",
            "the version is read before the rows, or with them",
            "ra",
            "new, registrations 1",
            [.alertNotOvertaken, .newest],
            breaks: [.order]
        ),
        Mutant("leave-held", "a send leaves out held entries", "ar", "failures 1", [.versionOnce, .alertOnce]) {
            $0.readEntries { entry, _, _ in
                var entry = entry
                entry.hold = nil
                entry.dueAt = nil
                return entry
            }
            // Who is not left out is found by the claim, too.
            $0.afterCommit { _, change, _, _ in
                change.entry { if $0.hold != nil { $0.dueAt = Clock.now } }
            }
        },
        Mutant("entries", "an entry stands for its phone", "ar", "failures 1", [.keyServed]) {
            $0.readEntries { _, _, _ in nil }
        },
        Mutant(
            "urgent",
            "pacing holds routine versions only, so that an alert goes to both cadences at once",
            "ar",
            "standard, failures 1",
            [.keyServed]
        ) {
            $0.afterSend { plan, _, shard, phones in
                guard shard.pacing.standard.routineAt != nil else { return }
                plan.covered.standard = nil
                plan.pushes.removeAll { $0.cadence == .standard && !$0.hasEntry }
            }
        },
        Mutant(
            "gap",
            "a gap holds back entries, too",
            "ar",
            "registrations 1, failures 1",
            [.gapKept]
        ) {
            let rule = $0.send
            $0.send = { match, shard, phones in
                guard var plan = rule(match, shard, phones) else { return nil }
                var open = shard
                open.pacing.standard.routineAt = nil
                guard let without = rule(match, open, phones) else { return nil }
                let others = without.pushes.filter { one in
                    one.hasEntry && !plan.pushes.contains { $0.phone == one.phone }
                }
                plan.pushes += others
                plan.leftOut.removeAll { one in others.contains { $0.phone == one.phone } }
                return plan
            }
        },
        Mutant("gap-key", "but none that lacks a key", "ar", "registrations 1", [.keyServed]) {
            $0.afterSend { plan, _, shard, _ in
                guard shard.pacing.standard.routineAt != nil else { return }
                plan.pushes.removeAll { $0.cadence == .standard && $0.hasEntry }
            }
        },
        Mutant("due", "an entry that is not due is left out", "ar", "failures 1", [.dueKept]) {
            $0.readEntries { entry, _, _ in
                var entry = entry
                if !entry.isHeld(at: Clock.now) { entry.dueAt = nil }
                return entry
            }
            $0.afterCommit { _, change, _, _ in
                change.entry { if $0.dueAt == Clock.now + .seconds(60) { $0.dueAt = Clock.retryAt } }
            }
        },
        Mutant(
            "due-key",
            "but not if it lacks a newer key",
            "ra",
            "failures 1",
            [.keyServed]
        ) {
            $0.afterSend { plan, _, _, phones in
                plan.pushes.removeAll { push in
                    phones[push.phone].entry?.dueAt.map { $0 > Clock.now } ?? false
                }
            }
        },
        Mutant("tried", "newer than the version last tried", "aar", "registrations 1, failures 1", [.dueKept]) {
            $0.readEntries { entry, _, _ in
                var entry = entry
                if !entry.isExhausted(needed: entry.tried) { entry.tried = 0 }
                return entry
            }
        },
        Mutant(
            "exhausted",
            "one whose attempts are exhausted waits for the next needed version",
            "r",
            "phones 2, exhausts, failures 2",
            [.attemptsKept]
        ) {
            $0.readEntries { entry, _, _ in
                var entry = entry
                entry.attempts = 0
                return entry
            }
        },
        Mutant(
            "written",
            "only what is not written is withdrawn",
            "ark",
            "withdraws",
            [.alertOnce, .versionOnce, .stampsRise],
            breaks: [.written]
        ),
    ]

    private static let committing: [Mutant] = [
        Mutant(
            "epoch",
            "a commit without its lease is void",
            "ar",
            "registrations 1, failures 1, lost 1, stays",
            [.keyServed],
            breaks: [.epoch]
        ) {
            $0.beforeCommit { $0.shard.lease.epoch = $0.plan.epoch }
        },
        Mutant(
            "gen",
            "an entry renewed since the read is not the push's to close",
            "ar",
            "registrations 1",
            [.answered]
        ) {
            $0.beforeCommit { facts in
                for push in facts.plan.pushes { facts.phones[push.phone]?.registration = push.registration }
            }
            let rule = $0.settle
            $0.settle = { plan, resolution, phone, shard, match in
                var phone = phone
                phone?.registration = plan.pushes[0].registration
                return rule(plan, resolution, phone, shard, match)
            }
        },
        Mutant(
            "learn",
            "but it learns that the alert was accepted",
            "ar",
            "registrations 1",
            [.alertOnce]
        ) {
            $0.afterCommit { phone, change, facts, _ in
                guard facts.resolution(of: phone) == .accepted, !facts.isSame(phone) else { return change }
                return nil
            }
            $0.afterSettlement { change, plan, resolution, phone, _ in
                guard resolution == .accepted, phone.registration != plan.pushes[0].registration else { return change }
                return change.entry { $0.alert = phone.entry?.alert }
            }
        },
        Mutant(
            "explicit",
            "a failure writes the alert's state even into a renewed entry",
            "ar",
            "registrations 1, failures 1",
            [.alertNotOvertaken, .alertNotLost]
        ) {
            $0.afterCommit { phone, change, facts, _ in
                guard !facts.isSame(phone), facts.resolution(of: phone) != .accepted else { return change }
                return change.entry { $0.alert = facts.phones[phone]?.entry?.alert }
            }
        },
        Mutant(
            "hold",
            "an early commit holds who is not known yet",
            "ar",
            "",
            [.versionOnce, .alertOnce]
        ) {
            $0.afterCommit { _, change, _, _ in
                change.entry {
                    if $0.hold != nil { $0.dueAt = Clock.now }
                    $0.hold = nil
                }
            }
        },
        Mutant(
            "keep-held",
            "a held entry is not cleaned up",
            "ar",
            "phones 2, failures 1, stays",
            [.versionOnce, .alertOnce, .newest]
        ) {
            $0.afterCommit { phone, change, facts, shard in
                guard case .writeEntry(let entry) = change, let row = facts.phones[phone] else { return change }
                guard entry.hold != nil, entry.saysSame(as: shard, cadence: row.cadence) else { return change }
                return .deleteEntry
            }
        },
        Mutant("failed", "a failure leaves an entry", "ar", "failures 1", [.newest]) {
            $0.afterCommit { phone, change, facts, _ in
                if case .failed = facts.resolution(of: phone) { return nil }
                return change
            }
        },
        Mutant("failed-alert", "which has not had the alert", "ar", "failures 1", [.alertNotOvertaken, .alertNotLost]) {
            $0.afterCommit { phone, change, facts, _ in
                guard case .failed = facts.resolution(of: phone) else { return change }
                return change.entry { $0.alert = max($0.alert ?? 0, facts.plan.alert) }
            }
        },
        Mutant(
            "ahead",
            "if the shard stays, entries say who is ahead",
            "ar",
            "phones 2, failures 1, stays",
            [.versionOnce]
        ) {
            $0.afterCommit { phone, change, facts, _ in
                facts.stays && facts.resolution(of: phone) == .accepted ? nil : change
            }
        },
        Mutant(
            "clean-same",
            "only an entry that says what the shard says is cleaned up",
            "ar",
            "failures 1",
            [.newest]
        ) {
            $0.afterCommit { _, change, _, _ in
                guard case .writeEntry(let entry) = change, entry.hold == nil else { return change }
                return .deleteEntry
            }
        },
        Mutant(
            "back",
            "what was withdrawn is not sent",
            "ark",
            "withdraws",
            [.alertNotOvertaken, .alertNotLost]
        ) {
            $0.beforeCommit { facts in
                facts.resolutions = facts.resolutions.map { $0 == .withdrawn ? .accepted : $0 }
            }
        },
        Mutant(
            "reopen",
            "a failure opens no entry for a phone that registered since",
            "ra",
            "registrations 2, failures 1",
            [.versionOnce]
        ) {
            $0.beforeCommit { facts in
                for (push, resolution) in zip(facts.plan.pushes, facts.resolutions) {
                    guard case .failed = resolution, facts.phones[push.phone]?.entry == nil else { continue }
                    facts.phones[push.phone]?.registration = push.registration
                }
            }
        },
        Mutant(
            "missing",
            "an outcome for a row that is gone, or in another shard, writes nothing",
            "a",
            "removals 1",
            [.entryHasPhone],
            breaks: [.missing]
        ),
    ]
}
