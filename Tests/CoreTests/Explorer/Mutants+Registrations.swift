import Core

// Clauses of registrations, settlements and new shards.
extension Mutant {
    static let registering: [Mutant] = [
        Mutant(
            "lock",
            "registrations and stamps exclude each other",
            "ar",
            "registrations 1, failures 1",
            [.newest, .answered],
            breaks: [.lock]
        ),
        Mutant(
            "new-alert",
            "a new phone's entry says itself which alerts it has had",
            "ra",
            "new, registrations 2",
            [.alertOnce]
        ) {
            $0.afterRegistration { plan, facts in
                if facts.former == nil { plan.entry?.alert = nil }
            }
        },
        Mutant(
            "renew",
            "a registration renews an entry that is there",
            "ar",
            "registrations 1, failures 1",
            [.versionOnce]
        ) {
            $0.afterRegistration { plan, facts in
                if facts.former?.entry != nil { plan.entry = facts.former?.entry }
            }
        },
        Mutant(
            "cadence",
            "a change of cadence opens an entry like any registration",
            "ar",
            "registrations 1",
            [.newest, .answered]
        ) {
            $0.afterRegistration { plan, facts in
                guard let former = facts.former, former.entry == nil, former.cadence != facts.cadence else { return }
                plan.entry = nil
            }
        },
        Mutant(
            "newer",
            "a phone that names the newest version has an entry while its shard is behind",
            "ar",
            "registrations 1",
            [.versionOnce]
        ) {
            let rule = $0.register
            $0.register = { facts in
                var facts = facts
                facts.reached = facts.match.stampedNeededVersion
                return rule(facts)
            }
        },
        Mutant(
            "entry-row",
            "a removal takes the entry, too",
            "a",
            "registrations 2, removals 1",
            [.entryHasPhone],
            breaks: [.entryRow]
        ),
        Mutant(
            "number",
            "a registration's number is never used again",
            "a",
            "registrations 1, removals 1",
            [.keyServed],
            breaks: [.number]
        ),
    ]

    static let settling: [Mutant] = [
        Mutant(
            "own-hold",
            "an outcome clears its own hold only",
            "rr",
            "registrations 2",
            [.versionOnce]
        ) {
            let rule = $0.settle
            $0.settle = { plan, resolution, phone, shard, match in
                var phone = phone
                if phone?.entry?.hold != nil { phone?.entry?.hold?.epoch = plan.epoch }
                return rule(plan, resolution, phone, shard, match)
            }
        },
        Mutant(
            "close-late",
            "entries are closed by commits of sends only",
            "ar",
            "",
            [.newest]
        ) {
            $0.afterSettlement { change, _, _, phone, shard in
                guard case .writeEntry(let entry) = change else { return change }
                return entry.saysSame(as: shard, cadence: phone.cadence) ? .deleteEntry : change
            }
        },
    ]

    static let making: [Mutant] = [
        Mutant(
            "zero",
            "a new shard starts at the stamped version",
            "a",
            "new, late, registrations 1",
            [.versionOnce]
        ) {
            // A phone that names the newest version has an entry there. Without that other clause, too, it is sent to.
            $0.newShard = { Shard(alerted: $0.stampedAlert) }
            let rule = $0.register
            $0.register = { facts in
                var facts = facts
                facts.reached = facts.match.stampedNeededVersion
                return rule(facts)
            }
        },
        Mutant(
            "zero-alert",
            "and with its newest alert",
            "a",
            "removals 1, shards 2, registrations 2",
            [.alertOnce]
        ) {
            $0.newShard = { Shard(reached: PerCadence(both: $0.stampedNeededVersion)) }
        },
    ]
}
