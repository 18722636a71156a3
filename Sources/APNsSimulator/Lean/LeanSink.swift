import EventLoop

/// What the lean listeners' connections share, on whatever loops they are: the rules, the counts, and the memory of what was
/// accepted.
final class LeanSink: Sendable {
    let faults: FaultBook
    /// Header blocks are read for ids and paths.
    let readsFields: Bool

    private let clock: @Sendable () -> Int64
    private let state: ThreadLock<State>

    fileprivate struct State: Sendable {
        var counts = CountKeeper()
        var ids: RecentIDs?
        var orders: TokenOrders?
    }

    init(_ configuration: SimulatorConfiguration, faults: FaultBook) {
        self.faults = faults
        clock = configuration.clock
        readsFields = configuration.countsDoubles || configuration.countsOrder
        var state = State()
        if configuration.countsDoubles { state.ids = RecentIDs() }
        if configuration.countsOrder { state.orders = TokenOrders() }
        self.state = ThreadLock(state)
    }

    /// Adds up what a connection has done since the last time: once a turn, not once a request.
    func take(_ tally: inout LeanTally) {
        guard !tally.isEmpty else { return }
        let pushes = tally.pushes
        state.withLock { state in
            state.counts.arrived += tally.arrived
            state.counts.count(.device, tally.accepted + tally.refused)
            if tally.accepted > 0 { state.counts.countSuccess(200, tally.accepted) }
            state.counts.unanswered.add(tally.unanswered)
            for push in pushes { state.accept(push) }
        }
        tally.clear()
    }

    func note(_ body: (inout CountKeeper) -> Void) {
        state.withLock { body(&$0.counts) }
    }

    func streamLimitBroken() { note { $0.streamLimitBroken += 1 } }

    var counts: CountKeeper {
        state.withLock { state in
            state.counts.idsForgotten = state.ids?.generationsForgotten ?? 0
            return state.counts
        }
    }

    /// The service's time as a header's value.
    func date(offset: Int) -> String { HTTPDate.text(clock() + Int64(offset)) }

    /// A scripted 410 without a timestamp is dead since now.
    func dated(_ answer: Rejection) -> Rejection { answer.dated(now: clock()) }
}

extension LeanSink.State {
    fileprivate mutating func accept(_ push: FieldSkimmer.Found) {
        guard let id = push.id else { return }
        if ids?.insert(id) == true {
            counts.doubledIDs += 1
            counts.doubled += 1
        } else if orders?.accept(UInt32(truncatingIfNeeded: id.1), for: push.path) == true {
            counts.reordered += 1
        }
    }
}

/// What a connection did in one turn.
struct LeanTally {
    /// Requests that were complete.
    var arrived = 0
    var accepted = 0
    /// Answered otherwise; by what, the sink was told.
    var refused = 0
    var unanswered = CountKeeper.Unanswered()
    /// What was read of those accepted.
    var pushes: [FieldSkimmer.Found] = []

    var isEmpty: Bool {
        arrived == 0 && accepted == 0 && refused == 0 && unanswered == CountKeeper.Unanswered()
    }

    mutating func clear() {
        (arrived, accepted, refused) = (0, 0, 0)
        unanswered = CountKeeper.Unanswered()
        pushes.removeAll(keepingCapacity: true)
    }
}
