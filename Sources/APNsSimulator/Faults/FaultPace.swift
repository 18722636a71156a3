import Glibc

/// How often a rule acts: a countdown of matching requests, drawn anew whenever it has acted.
///
/// So a rule costs one subtraction a request, however rare it is. A share is drawn as distances between hits, which is the
/// same as asking for each request. A hit that could not act, since another rule came first, waits for the next request:
/// shares and distances hold whatever other rules do.
struct FaultPace: Sendable {
    private enum Kind: Sendable {
        case always
        case every(Int)
        case share(Double)
    }

    private let kind: Kind
    private var generator: SeededGenerator
    private var left: Int
    /// For how many requests the rule has been due.
    private var late = 0

    init(share: Double?, every: Int?, generator: SeededGenerator) {
        self.generator = generator
        if let every {
            kind = .every(max(1, every))
        } else if let share, share < 1 {
            kind = .share(share)
        } else {
            kind = .always
        }
        left = 0
        begin()
    }

    /// Counts a matching request, and says whether the rule is due.
    mutating func isDue() -> Bool {
        guard left > 0 else {
            late &+= 1
            return true
        }
        left &-= 1
        return left == 0
    }

    /// The rule has acted.
    mutating func begin() {
        switch kind {
        case .always: left = 0
        case .every(let distance): left = max(1, distance - late)
        case .share(let share):
            guard share > 0 else { return left = .max }
            // The geometric distribution, by inversion.
            let draw = Double.random(in: Double.leastNonzeroMagnitude..<1, using: &generator)
            left = max(1, Int(min(1e15, log(draw) / log1p(-share))) + 1 - late)
        }
        late = 0
    }
}
