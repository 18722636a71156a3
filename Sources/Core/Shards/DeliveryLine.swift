/// The counts of one send for one cadence. Lines are added up when they are read; a settlement adds a correcting one.
package struct DeliveryLine: Equatable, Sendable {
    package var cadence: Cadence
    /// The versions that it brought up to date: those in between were skipped.
    package var versions: ClosedRange<Int64>
    package var wanted = 0
    package var accepted = 0
    package var removed = 0
    package var refused = 0
    package var exhausted = 0
    /// They go once more, by their entries.
    package var leftToEntries = 0
    package var held = 0

    package init(cadence: Cadence, versions: ClosedRange<Int64>) {
        self.cadence = cadence
        self.versions = versions
    }

    /// What every line, and every sum of lines, has to fulfil.
    package var isBalanced: Bool {
        wanted == accepted + removed + refused + exhausted + leftToEntries + held
    }

    package mutating func count(_ resolution: Resolution, _ number: Int = 1) {
        switch resolution {
        case .accepted: accepted += number
        case .failed, .withdrawn: leftToEntries += number
        case .exhausted: exhausted += number
        case .dead: removed += number
        case .refused: refused += number
        case .unanswered: held += number
        }
    }

    /// - Returns: A line for each cadence that was covered, or had a push.
    static func lines(of plan: SendPlan, resolutions: [Resolution], shardStays: Bool) -> [DeliveryLine] {
        var lines: [DeliveryLine] = []
        for cadence in Cadence.ofPhones {
            let from = plan.covered[cadence].flatMap { shardStays ? nil : $0.from + 1 } ?? plan.version
            var line = DeliveryLine(cadence: cadence, versions: from...plan.version)
            for (push, resolution) in zip(plan.pushes, resolutions) where push.cadence == cadence {
                line.wanted += 1
                line.count(resolution)
            }
            if line.wanted > 0 || plan.covered[cadence] != nil { lines.append(line) }
        }
        return lines
    }

    /// The line of a held push whose outcome has come.
    package init(settling push: SendPlan.Push, in plan: SendPlan, as resolution: Resolution) {
        self.init(cadence: push.cadence, versions: plan.version...plan.version)
        held = -1
        count(resolution)
    }
}
