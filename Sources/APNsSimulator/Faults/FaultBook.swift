import EventLoop
import Synchronization

/// The rules that are in force, for the connections of all loops.
final class FaultBook: Sendable {
    private let rules: ThreadLock<FaultRules>
    private let hasRules = Atomic<Bool>(false)

    init(generator: SeededGenerator) { rules = ThreadLock(FaultRules(generator: generator)) }

    /// Cheap to ask on every request.
    var isEmpty: Bool { !hasRules.load(ordering: .relaxed) }

    func replace(_ rules: [FaultRules.Rule]) {
        self.rules.withLock { $0.replace(rules) }
        hasRules.store(!rules.isEmpty, ordering: .relaxed)
    }

    /// What the rules do to a request, and the number of the rules' edition.
    func effects(on subject: FaultRules.Subject) -> (effects: FaultRules.Effects, generation: Int) {
        rules.withLock { ($0.effects(on: subject), $0.generation) }
    }

    func reception(on role: ListenerRole) -> FaultRules.Reception {
        isEmpty ? .normal : rules.withLock { $0.reception(on: role) }
    }

    func useGoAway(_ rule: Int, generation: Int) -> Bool {
        rules.withLock { $0.generation == generation && $0.useGoAway(rule) }
    }

    /// Whether streams are still to be held for the GOAWAY of this rule.
    func awaitsGoAway(_ rule: Int, generation: Int) -> Bool {
        rules.withLock { $0.generation == generation && !$0.isUsedUp(rule) }
    }

    /// How often each rule has acted, in the rules' order.
    var uses: [Int] { rules.withLock { $0.uses } }
}
