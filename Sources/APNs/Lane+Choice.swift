internal import EventLoop
internal import HTTP2

/// Which connection takes the next push.
extension Lane {
    /// Streams up to which a connection is given more before the next one is.
    private static let littleToDo = 64

    func reserve(from rank: PushRank) -> HTTP2Reserve {
        rank == .channel ? .none : configuration.urgentReserve
    }

    /// A connection for the next push of this rank; where there is none that is worth it, another one is wanted.
    func connection(forBody bodyBytes: Int, _ rank: PushRank, now: ContinuousClock.Instant) -> LaneConnection? {
        let (good, doubtful) = nextConnection(bodyBytes: bodyBytes, rank, now: now)
        if let good { return good }
        grow(now: now)
        guard let doubtful else { return nil }
        // Better a moment later on a connection that answers; but not for ever, where there will be none.
        guard let hope = hopeEnds(now: now) else { return doubtful }
        wake(at: hope)
        return nil
    }

    /// Whether a connection that has room may take one more push that must not be sent twice: few at a time, and only where
    /// the connection is known to live.
    func mayTakeOnce(_ entry: LaneConnection, now: ContinuousClock.Instant) -> Bool {
        entry.onceInFlight < configuration.onceInFlight && entry.connection.probe(now: now)
    }

    /// The next connection with room: the first that has little to do, so that a lane with little to do leaves the others
    /// idle and they can go; else the next in turn; one whose PING is unanswered only when there is no other.
    ///
    /// - Returns: One to use, or else one that is in doubt.
    private func nextConnection(
        bodyBytes: Int,
        _ rank: PushRank,
        now: ContinuousClock.Instant
    ) -> (good: LaneConnection?, doubtful: LaneConnection?) {
        let reserve = reserve(from: rank)
        var asked: LaneConnection?
        var doubtful: LaneConnection?
        var inTurn: Int?
        var first: Int?
        for offset in 0..<connections.count {
            let place = (turn + offset) % connections.count
            let entry = connections[place]
            guard entry.connection.canSubmit(bodyBytes: bodyBytes, leaving: reserve),
                rank != .once || mayTakeOnce(entry, now: now)
            else { continue }
            if let pausedUntil = entry.pausedUntil {
                guard now >= pausedUntil else {
                    wake(at: pausedUntil)
                    continue
                }
                entry.pausedUntil = nil
            }
            if entry.isInDoubt(now: now) {
                doubtful = entry
                continue
            }
            if entry.connection.isAsked {
                asked = entry
                continue
            }
            inTurn = inTurn ?? place
            if entry.connection.openStreams < Self.littleToDo { first = min(first ?? place, place) }
        }
        guard let place = first ?? inTurn else { return (asked, doubtful) }
        turn = (place + 1) % connections.count
        return (connections[place], nil)
    }
}
