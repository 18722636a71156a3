/// Scripted faults, as a value: rules, tried in their order on every request.
///
/// Delays and stream limits of all matching rules count; of those that settle a request (`status`, `reset`, `silence`,
/// `close`, `undelivered`) the first.
struct FaultRules: Sendable {
    struct Rule: Sendable {
        var match: Match
        var action: FaultAction
        /// How often the rule has acted.
        var used = 0
        /// How many matching requests were let pass because of `skip`.
        var skipped = 0
    }

    /// Which requests a rule is about; what is nil does not matter.
    struct Match: Sendable {
        var route: Route?
        /// Lower-case hexadecimal.
        var token: String?
        var channel: String?
        /// Between 0 and 1, of the requests that match otherwise.
        var share: Double?
        /// The rule acts at most this often.
        var times: Int?
        /// So many matching requests pass first.
        var skip = 0
    }

    enum Route: String, Sendable, CaseIterable {
        case device, broadcast, manage
    }

    /// What a rule looks at.
    struct Subject {
        let route: Route?
        let token: String?
        let channel: String?
    }

    /// What happens to one request.
    struct Effects: Equatable {
        var delay: Duration = .zero
        var streamLimit: Int?
        /// The rule that counts this stream towards a GOAWAY, and what it does then.
        var goAway: (rule: Int, fault: GoAwayFault)?
        var settling: FaultAction?

        static func == (left: Effects, right: Effects) -> Bool {
            left.delay == right.delay && left.streamLimit == right.streamLimit && left.settling == right.settling
                && left.goAway?.rule == right.goAway?.rule && left.goAway?.fault == right.goAway?.fault
        }
    }

    private(set) var rules: [Rule]
    private var generator: SeededGenerator
    /// Rises with every new set of rules, so that connections forget what they counted for the old one.
    private(set) var generation = 0

    init(_ rules: [Rule] = [], generator: SeededGenerator) {
        self.rules = rules
        self.generator = generator
    }

    var isEmpty: Bool { rules.isEmpty }

    mutating func replace(_ rules: [Rule]) {
        self.rules = rules
        generation += 1
    }

    /// What the rules do to a request; counts their use.
    mutating func effects(on subject: Subject) -> Effects {
        var effects = Effects()
        for index in rules.indices where matches(index, subject) {
            switch rules[index].action {
            case .goAway(let fault):
                if effects.goAway == nil { effects.goAway = (index, fault) }
                continue  // used when the frame is sent
            case .delay(let time): effects.delay += time
            case .streamLimit(let limit): effects.streamLimit = limit
            case .answer, .reset, .silence, .close, .undelivered:
                guard effects.settling == nil else { continue }
                effects.settling = rules[index].action
            }
            rules[index].used += 1
        }
        return effects
    }

    /// A connection has sent the GOAWAY of this rule. False if the rule was used up by another.
    mutating func useGoAway(_ rule: Int) -> Bool {
        guard rules.indices.contains(rule), !isUsedUp(rules[rule]) else { return false }
        rules[rule].used += 1
        return true
    }

    func isUsedUp(_ rule: Int) -> Bool { rules.indices.contains(rule) ? isUsedUp(rules[rule]) : true }

    private func isUsedUp(_ rule: Rule) -> Bool { rule.match.times.map { rule.used >= $0 } ?? false }

    private mutating func matches(_ index: Int, _ subject: Subject) -> Bool {
        let match = rules[index].match
        if isUsedUp(rules[index]) { return false }
        if let route = match.route, route != subject.route { return false }
        if let token = match.token, token != subject.token?.lowercased() { return false }
        if let channel = match.channel, channel != subject.channel { return false }
        if let share = match.share, Double.random(in: 0..<1, using: &generator) >= share { return false }
        if rules[index].skipped < match.skip {
            rules[index].skipped += 1
            return false
        }
        return true
    }
}
