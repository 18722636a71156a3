/// In which order events of one match happened: by the feed's sequence if it has one, else by time, else by arrival.
package enum EventOrder {
    /// Where an event stands beside the newest accepted one.
    package enum Verdict: Equatable, Sendable {
        case take
        /// It happened before the newest accepted one: kept, not sent.
        case superseded
    }

    /// Decides about one event. Equal is taken; corrections and ends always are.
    ///
    /// - Parameters:
    ///   - event: The one that came.
    ///   - lastSequence: The highest accepted one of the match.
    ///   - lastOccurredAt: The latest accepted one.
    /// - Returns: Whether it is sent.
    package static func verdict(
        _ event: FeedEvent,
        lastSequence: Int64?,
        lastOccurredAt: Timestamp?
    ) -> Verdict {
        switch event.kind {
        case .correction, .end: return .take
        case .update, .heartbeat: break
        }
        if let sequence = event.sequence, let lastSequence { return sequence < lastSequence ? .superseded : .take }
        if let time = event.occurredAt, let lastOccurredAt { return time < lastOccurredAt ? .superseded : .take }
        return .take
    }

    /// The order in which events that came together are taken, as indices into `events`.
    ///
    /// By sequence when any has one, else by time; an event without the key stays behind its predecessor.
    package static func arranged(_ events: [FeedEvent]) -> [Int] {
        if events.contains(where: { $0.sequence != nil }) {
            return arranged(events.map(\.sequence))
        }
        return arranged(events.map { $0.occurredAt?.microseconds })
    }

    private static func arranged(_ keys: [Int64?]) -> [Int] {
        var last = Int64.min
        let filled = keys.map { key in
            last = key ?? last
            return last
        }
        return filled.indices.sorted { (filled[$0], $0) < (filled[$1], $1) }
    }
}
