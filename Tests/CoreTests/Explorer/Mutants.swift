import Core
import Testing

/// The rule with one clause left out, and the promise that breaks then.
///
/// A mutant changes what goes into one of the functions or what comes out of it, or lets the engine do what it never
/// does. So the product's code has no switches for tests, and what is explored is what runs.
struct Mutant: CustomTestStringConvertible {
    let name: String
    /// The clause that is left out.
    let text: String
    let story: String
    let budget: String
    let expected: Set<Invariant>
    var breaks: Set<PhonesWorld.Break> = []
    var change: (@Sendable (inout Rule) -> Void)?

    var testDescription: String { name }

    init(
        _ name: String,
        _ text: String,
        _ story: String,
        _ budget: String,
        _ expected: Set<Invariant>,
        breaks: Set<PhonesWorld.Break> = [],
        _ change: (@Sendable (inout Rule) -> Void)? = nil
    ) {
        self.name = name
        self.text = text
        self.story = story
        self.budget = budget
        self.expected = expected
        self.breaks = breaks
        self.change = change
    }

    var setting: PhonesWorld.Setting {
        var setting = PhonesWorld.Setting(story, PhonesWorld.Budget(budget))
        setting.breaks = breaks
        change?(&setting.rule)
        return setting
    }
}

extension Rule {
    /// Changes the entries that a send reads.
    mutating func readEntries(_ change: @escaping (Entry, Shard, StampedMatch) -> Entry?) {
        let rule = send
        send = { match, shard, phones in
            rule(
                match,
                shard,
                phones.map { phone in
                    var phone = phone
                    phone.entry = phone.entry.flatMap { change($0, shard, match) }
                    return phone
                }
            )
        }
    }

    /// Changes what a send makes of its facts.
    mutating func afterSend(_ change: @escaping (inout SendPlan, StampedMatch, Shard, [Phone]) -> Void) {
        let rule = send
        send = { match, shard, phones in
            guard var plan = rule(match, shard, phones) else { return nil }
            change(&plan, match, shard, phones)
            return plan
        }
    }

    struct Committing {
        var plan: SendPlan
        var resolutions: [Resolution]
        var shard: Shard
        var phones: [Int: Phone]
        var stays: Bool

        func resolution(of phone: Int) -> Resolution? {
            plan.pushes.firstIndex { $0.phone == phone }.map { resolutions[$0] }
        }

        func isSame(_ phone: Int) -> Bool {
            plan.pushes.first { $0.phone == phone }?.registration == phones[phone]?.registration
        }
    }

    /// Changes what a commit reads.
    mutating func beforeCommit(_ change: @escaping (inout Committing) -> Void) {
        let rule = commit
        commit = { plan, resolutions, shard, phones, stays in
            var facts = Committing(plan: plan, resolutions: resolutions, shard: shard, phones: phones, stays: stays)
            change(&facts)
            return rule(facts.plan, facts.resolutions, facts.shard, facts.phones, facts.stays)
        }
    }

    /// Changes each phone's change of a commit; nil: nothing is written for it.
    mutating func afterCommit(
        _ change: @escaping (_ phone: Int, PhoneChange, _ facts: Committing, _ now: Shard) -> PhoneChange?
    ) {
        let rule = commit
        commit = { plan, resolutions, shard, phones, stays in
            let facts = Committing(plan: plan, resolutions: resolutions, shard: shard, phones: phones, stays: stays)
            guard var commit = rule(plan, resolutions, shard, phones, stays) else { return nil }
            commit.changes = commit.changes.compactMap { one in
                change(one.phone, one.change, facts, commit.shard).map {
                    CommitPlan.Change(phone: one.phone, change: $0)
                }
            }
            return commit
        }
    }

    /// Changes what a settlement writes.
    mutating func afterSettlement(_ change: @escaping (PhoneChange, SendPlan, Resolution, Phone, Shard) -> PhoneChange?)
    {
        let rule = settle
        settle = { plan, resolution, phone, shard, match in
            guard let phone, let written = rule(plan, resolution, phone, shard, match) else { return nil }
            return change(written, plan, resolution, phone, shard)
        }
    }

    mutating func afterRegistration(_ change: @escaping (inout RegistrationPlan, Registering) -> Void) {
        let rule = register
        register = { facts in
            var plan = rule(facts)
            change(&plan, facts)
            return plan
        }
    }
}

extension PhoneChange {
    /// Changes an entry that is written.
    func entry(_ change: (inout Entry) -> Void) -> PhoneChange {
        guard case .writeEntry(var entry) = self else { return self }
        change(&entry)
        return .writeEntry(entry)
    }
}
