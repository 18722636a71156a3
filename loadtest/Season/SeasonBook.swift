internal import EventLoop

/// What the run knows of each match, and what was seen at APNs.
final class SeasonBook: Sendable {
    struct Match: Sendable {
        /// From then on it may have a channel: never, until its kick-off is brought forward.
        var opensAt = Double.infinity
        /// When its being over was answered, by a clock that is not set on: whoever is dead deletes nothing.
        var overAt: Double?
    }

    /// A channel at APNs, in one reading of its list after the other.
    struct Sighting: Sendable {
        /// Numbers of readings.
        let first: Int
        var last: Int
        /// When the first reading was answered, in the season's time, and when the last was asked for, in real time.
        let firstAt: Double
        var lastAt: Double
    }

    struct State: Sendable {
        var matches: [String: Match] = [:]
        var sightings: [String: Sighting] = [:]
        var readings = 0
        var most = 0
        /// How many were allowed when there were the most.
        var allowed = 0
        var problems: [String] = []
        var problemCount = 0
    }

    private let state = ThreadLock(State())
    /// How long a channel may outlive its match: the hold of an end, the linger, and what kills may cost.
    private let stay: Double

    init(stay: Double) { self.stay = stay }

    var values: State { state.withLock { $0 } }

    func opens(_ match: String, at moment: Double) {
        state.withLock { $0.matches[match, default: Match()].opensAt = moment }
    }

    func isOver(_ match: String, at moment: Double) {
        state.withLock { $0.matches[match, default: Match()].overAt = moment }
    }

    func complain(_ text: String) {
        state.withLock { state in
            state.problemCount += 1
            if state.problems.count < 10 { state.problems.append(text) }
        }
    }

    /// Puts down one reading of APNs' list.
    ///
    /// - Parameters:
    ///   - ids: That it had.
    ///   - asked: When it was asked for, in real time.
    ///   - answered: When it came, in the season's time.
    func saw(_ ids: [String], asked: Double, answered: Double) {
        let allowed = state.withLock { state in
            state.readings += 1
            for id in ids {
                if state.sightings[id] == nil {
                    state.sightings[id] = Sighting(
                        first: state.readings,
                        last: state.readings,
                        firstAt: answered,
                        lastAt: asked
                    )
                } else {
                    state.sightings[id]?.last = state.readings
                    state.sightings[id]?.lastAt = asked
                }
            }
            let allowed = state.matches.values.count { match in
                match.opensAt <= answered && (match.overAt.map { asked < $0 + stay } ?? true)
            }
            if ids.count > state.most { (state.most, state.allowed) = (ids.count, allowed) }
            return allowed
        }
        if ids.count > allowed { complain("APNs has \(ids.count) channels, and \(allowed) matches may have one") }
    }

    /// Compares what was seen with whose each channel was.
    ///
    /// - Parameter owners: By channel id: its match, as the ledger remembers.
    func judge(_ owners: [String: String]) {
        let (sightings, matches) = state.withLock { ($0.sightings, $0.matches) }
        var seen: [String: [(id: String, sighting: Sighting)]] = [:]
        for (id, sighting) in sightings {
            guard let match = owners[id] else {
                complain("channel \(id) was at APNs and is in no book")
                continue
            }
            let opensAt = matches[match]?.opensAt ?? .infinity
            // Kick-offs are whole seconds.
            if sighting.firstAt < opensAt - 1 {
                complain("\(match) had a channel \(opensAt - sighting.firstAt) s before its lead")
            }
            seen[match, default: []].append((id, sighting))
        }
        for (match, channels) in seen where channels.count > 1 {
            let sorted = channels.sorted { $0.sighting.first < $1.sighting.first }
            for (one, next) in zip(sorted, sorted.dropFirst()) where next.sighting.first <= one.sighting.last {
                complain("\(match) had two channels at APNs at once: \(one.id) and \(next.id)")
            }
        }
    }

    /// The longest that a channel outlived its match, by `owners`: in seconds.
    func longestStay(_ owners: [String: String]) -> Double {
        let state = values
        return state.sightings.reduce(0) { longest, sighting in
            guard let match = owners[sighting.key], let over = state.matches[match]?.overAt else { return longest }
            return max(longest, sighting.value.lastAt - over)
        }
    }
}
