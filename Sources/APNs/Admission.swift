/// Decides which batches may come into the queue of a loop and which wait outside, so that what waits is bounded and no
/// lane can keep another one out.
///
/// A fact in, an answer out; it knows batches by their number only, and does not hold them.
///
/// - Routine pushes share one limit. Where it is reached, lanes are let in by turns, one batch each; and a lane of which
///   nothing waits is let in whatever the others have queued, so that a small tenant never stands behind a large one.
/// - Urgent pushes have a limit of their own for each lane, beyond the routine one; so have those to channels, and those that
///   must not be sent twice.
/// - A batch that is larger than its limit comes in when nothing of its kind waits.
struct Admission {
    struct Limits: Equatable, Sendable {
        /// Routine pushes of all lanes.
        var routine: Int
        /// Urgent pushes of one lane; as many again for those to channels, and for those that must not be sent twice.
        var urgentPerLane: Int
    }

    private struct Ticket {
        let lane: LaneKey
        let rank: PushRank
        let count: Int
    }

    private struct LaneState {
        /// Pushes that wait inside, by rank.
        var inside = PushRankCounts()
        /// Numbers of batches; those that were taken back stay until they come up.
        var outside: [Fifo<Int>] = PushRank.allCases.map { _ in Fifo() }
        var outsideCounts = PushRankCounts()
    }

    let limits: Limits
    /// Pushes that wait outside.
    private(set) var outside = 0
    private var routineInside = 0
    private var lanes: [LaneKey: LaneState] = [:]
    private var tickets: [Int: Ticket] = [:]
    /// Lanes with routine batches outside, in the order in which they are let in.
    private var turns = Fifo<LaneKey>()
    /// Lanes of which something has left, that may be let in out of turn.
    private var shrunk: [LaneKey] = []

    init(limits: Limits) { self.limits = limits }

    /// A batch wants to come in.
    ///
    /// - Returns: Whether it may, now; its pushes count as inside from here on. Otherwise ``next()`` names it some time,
    ///   unless it was taken back.
    mutating func enter(_ number: Int, count: Int, lane: LaneKey, rank: PushRank) -> Bool {
        var state = lanes.removeValue(forKey: lane) ?? LaneState()
        defer { lanes[lane] = state }
        if state.outsideCounts[rank] == 0, hasRoom(for: count, rank, in: state) {
            take(count, rank, into: &state)
            return true
        }
        tickets[number] = Ticket(lane: lane, rank: rank, count: count)
        if rank == .routine, state.outsideCounts[rank] == 0 { turns.append(lane) }
        state.outside[rank.rawValue].append(number)
        state.outsideCounts[rank] += count
        outside += count
        return false
    }

    /// What waits inside of a lane has changed: pushes were sent, withdrawn, or given back.
    mutating func update(_ lane: LaneKey, inside counts: PushRankCounts) {
        guard var state = lanes.removeValue(forKey: lane) else { return }
        routineInside += counts[.routine] - state.inside[.routine]
        state.inside = counts
        if state.outsideCounts.total > 0 {
            shrunk.append(lane)
        } else if counts.total == 0 {
            return
        }
        lanes[lane] = state
    }

    /// The next batch that may come in; its pushes count as inside from here on. Asked until it has none.
    mutating func next() -> Int? {
        while let lane = shrunk.last {
            if let number = letIn(lane) { return number }
            shrunk.removeLast()
        }
        while let lane = turns.first {
            guard let count = firstCount(of: lane, .routine) else {
                _ = turns.popFirst()
                continue
            }
            guard hasRoom(for: count, .routine, in: lanes[lane] ?? LaneState()) else { return nil }
            _ = turns.popFirst()
            let number = pop(lane, .routine)
            if lanes[lane].map({ $0.outsideCounts[.routine] > 0 }) ?? false { turns.append(lane) }
            return number
        }
        return nil
    }

    /// A batch that waits outside is taken back.
    ///
    /// - Returns: Whether it did wait.
    mutating func remove(_ number: Int) -> Bool {
        guard let ticket = tickets.removeValue(forKey: number) else { return false }
        lanes[ticket.lane]?.outsideCounts[ticket.rank] -= ticket.count
        outside -= ticket.count
        return true
    }

    // MARK: - Helpers

    /// Out of turn: what is urgent, and a routine batch where the lane has none inside.
    private mutating func letIn(_ lane: LaneKey) -> Int? {
        for rank in PushRank.allCases {
            guard let count = firstCount(of: lane, rank), let state = lanes[lane] else { continue }
            let mayEnter = rank == .routine ? state.inside[.routine] == 0 : hasRoom(for: count, rank, in: state)
            if mayEnter { return pop(lane, rank) }
        }
        return nil
    }

    private func hasRoom(for count: Int, _ rank: PushRank, in state: LaneState) -> Bool {
        if state.inside[rank] == 0 { return true }
        return switch rank {
        case .channel, .once, .urgent: state.inside[rank] + count <= limits.urgentPerLane
        case .routine: routineInside + count <= limits.routine
        }
    }

    private mutating func take(_ count: Int, _ rank: PushRank, into state: inout LaneState) {
        state.inside[rank] += count
        if rank == .routine { routineInside += count }
    }

    /// The size of the first batch outside, those that were taken back being dropped.
    private mutating func firstCount(of lane: LaneKey, _ rank: PushRank) -> Int? {
        while let number = lanes[lane]?.outside[rank.rawValue].first {
            if let ticket = tickets[number] { return ticket.count }
            _ = lanes[lane]?.outside[rank.rawValue].popFirst()
        }
        return nil
    }

    private mutating func pop(_ lane: LaneKey, _ rank: PushRank) -> Int? {
        guard var state = lanes.removeValue(forKey: lane), let number = state.outside[rank.rawValue].popFirst(),
            let ticket = tickets.removeValue(forKey: number)
        else { return nil }
        outside -= ticket.count
        state.outsideCounts[rank] -= ticket.count
        take(ticket.count, rank, into: &state)
        lanes[lane] = state
        return number
    }
}
