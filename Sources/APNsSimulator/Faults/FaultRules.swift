/// Scripted faults, as a value: rules, tried in their order on every request.
///
/// What comes on top (delays, stream limits, stray frames) counts of all matching rules; of those that settle a request
/// (`status`, `reset`, `silence`, `close` …) the first.
struct FaultRules: Sendable {
    struct Rule: Sendable {
        var match: Match
        var action: FaultAction
    }

    /// Which requests a rule is about; what is nil does not matter.
    struct Match: Equatable, Sendable {
        var route: Route?
        /// Lower-case hexadecimal.
        var token: String?
        var channel: String?
        /// Between 0 and 1, of the requests that match otherwise.
        var share: Double?
        /// Each so-manieth of the requests that match otherwise.
        var every: Int?
        /// The rule acts at most this often.
        var times: Int?
        /// So many matching requests pass first.
        var skip = 0
        /// The rule begins so long after it was given, and ends so long after it began.
        var after: Duration?
        var lasting: Duration?
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
    struct Effects: Sendable {
        var delay: Duration = .zero
        var streamLimit: (limit: Int, lasting: Duration?)?
        /// The rule that counts this stream towards a GOAWAY, and what it does then.
        var goAway: (rule: Int, fault: GoAwayFault)?
        var frames: [StrayFrame] = []
        var dateOffset = 0
        var settling: FaultAction?
    }

    /// What happens to one connection that is accepted.
    enum Reception: Equatable, Sendable {
        case normal
        case lateSettings(Duration)
        case withoutWindow
        case refused
        case tlsFailure
    }

    /// What is looked at on every request, apart from what is not.
    private struct Gate {
        var isOfConnection: Bool
        var route: Route?
        var hasConditions: Bool
        var skip: Int
        var left: Int
        var pace: FaultPace
    }

    private(set) var rules: [Rule]
    /// How often each rule has acted.
    private(set) var uses: [Int]
    private var gates: [Gate] = []
    private let seed: UInt64
    private var generator: SeededGenerator
    private var given = ContinuousClock.now
    /// Rises with every new set of rules, so that connections forget what they counted for the old one.
    private(set) var generation = 0

    /// - Parameters:
    ///   - rules: In the order in which they are tried.
    ///   - generator: Of shares and jitter. The same seed and rules give the same hits.
    init(_ rules: [Rule] = [], generator: SeededGenerator) {
        self.generator = generator
        seed = self.generator.next()
        self.rules = rules
        uses = []
        replace(rules, at: given)
    }

    var isEmpty: Bool { rules.isEmpty }

    mutating func replace(_ rules: [Rule], at now: ContinuousClock.Instant = .now) {
        self.rules = rules
        given = now
        generation += 1
        uses = Array(repeating: 0, count: rules.count)
        gates = rules.enumerated().map { index, rule in
            Gate(
                isOfConnection: rule.action.isOfConnection,
                route: rule.match.route,
                hasConditions: rule.match.hasConditions,
                skip: rule.match.skip,
                left: rule.match.times ?? .max,
                pace: FaultPace(
                    share: rule.match.share,
                    every: rule.match.every,
                    generator: SeededGenerator(seed: seed &+ UInt64(index) &* 0x1_0001)
                )
            )
        }
    }

    /// What the rules do to a request; counts their use. `now` is looked at for rules with a beginning or an end.
    mutating func effects(on subject: Subject, at now: @autoclosure () -> ContinuousClock.Instant = .now) -> Effects {
        var effects = Effects()
        for index in gates.indices {
            let gate = gates[index]
            guard !gate.isOfConnection, gate.left > 0, gate.route == nil || gate.route == subject.route else {
                continue
            }
            guard !gate.hasConditions || conditionsHold(index, subject, now()) else { continue }
            if passes(index) { act(index, &effects) }
        }
        return effects
    }

    /// What the rules do to a connection that is accepted; counts their use. Of several rules the first decides.
    mutating func reception(on role: ListenerRole, at now: ContinuousClock.Instant = .now) -> Reception {
        for index in gates.indices {
            let gate = gates[index]
            guard gate.isOfConnection, gate.left > 0, gate.route.map({ ($0 == .manage) == (role == .manage) }) ?? true,
                !gate.hasConditions || conditionsHold(index, nil, now), passes(index)
            else { continue }
            use(index)
            switch rules[index].action {
            case .refuse: return .refused
            case .tlsFailure: return .tlsFailure
            case .settingsDelay(let time): return .lateSettings(time)
            case .noWindow: return .withoutWindow
            default: continue
            }
        }
        return .normal
    }

    /// A connection has sent the GOAWAY of this rule. False if the rule was used up by another.
    mutating func useGoAway(_ rule: Int) -> Bool {
        guard rules.indices.contains(rule), gates[rule].left > 0 else { return false }
        use(rule)
        return true
    }

    func isUsedUp(_ rule: Int) -> Bool { rules.indices.contains(rule) ? gates[rule].left == 0 : true }

    // MARK: - One rule

    private func conditionsHold(_ index: Int, _ subject: Subject?, _ now: ContinuousClock.Instant) -> Bool {
        let match = rules[index].match
        if let token = match.token, token != subject?.token?.lowercased() { return false }
        if let channel = match.channel, channel != subject?.channel { return false }
        let begin = given + (match.after ?? .zero)
        return now >= begin && (match.lasting.map { now < begin + $0 } ?? true)
    }

    /// Whether it is the rule's turn among the requests that match.
    private mutating func passes(_ index: Int) -> Bool {
        if gates[index].skip > 0 {
            gates[index].skip -= 1
            return false
        }
        return gates[index].pace.isDue()
    }

    private mutating func act(_ index: Int, _ effects: inout Effects) {
        switch rules[index].action {
        case .goAway(let fault):
            if effects.goAway == nil { effects.goAway = (index, fault) }
            // Its use is counted when the frame is sent; its turn is over.
            gates[index].pace.begin()
            return
        case .delay(let time, let jitter): effects.delay += time + jitter * Double.random(in: 0...1, using: &generator)
        case .streamLimit(let limit, let lasting): effects.streamLimit = (limit, lasting)
        case .frame(let frame): effects.frames.append(frame)
        case .dateOffset(let seconds): effects.dateOffset = seconds
        case .refuse, .tlsFailure, .settingsDelay, .noWindow: return
        case .answer, .reset, .silence, .mute, .close, .tcpReset, .halfAnswer, .undelivered, .lostAnswer:
            guard effects.settling == nil else { return }
            effects.settling = rules[index].action
        }
        use(index)
    }

    private mutating func use(_ index: Int) {
        uses[index] += 1
        if gates[index].left < .max { gates[index].left -= 1 }
        gates[index].pace.begin()
    }
}

extension FaultRules.Match {
    fileprivate var hasConditions: Bool { token != nil || channel != nil || after != nil || lasting != nil }
}
