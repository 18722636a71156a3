/// In which order events of one match happened: by the feed's sequence if it has one, else by time, else by arrival.
///
/// `touchline_accept` decides by the same rule, under the lock of the match's row; a test compares the two.
package enum EventOrder {
    /// The sequences that an event may have. Nanoseconds since 1970 fit; one near the top of a 64-bit integer is a mistake
    /// that would make all later events of the match look old.
    package static let sequences: ClosedRange<Int64> = 0...4_000_000_000_000_000_000
    /// A feed that counts anew may be recognised when its sequence is lower by more than this.
    package static let restartDrop: Int64 = 1_000
    /// Or when its sequence is at most this.
    package static let restartFloor: Int64 = 10

    /// The newest event that was accepted.
    package struct Newest: Equatable, Sendable {
        /// The highest sequence since the feed began to count.
        package var sequence: Int64?
        package var occurredAt: Timestamp?
        /// When the event happened with which the feed began to count anew.
        package var restartedAt: Timestamp?

        package init(sequence: Int64? = nil, occurredAt: Timestamp? = nil, restartedAt: Timestamp? = nil) {
            self.sequence = sequence
            self.occurredAt = occurredAt
            self.restartedAt = restartedAt
        }
    }

    /// Where an event stands beside the newest accepted one.
    package enum Verdict: Equatable, Sendable {
        case take
        /// The feed counts anew: the event is taken, and the order begins with it.
        case restart
        /// It happened before the newest accepted one: kept, not sent. The reason names the field that says so.
        case superseded(by: Key)
    }

    /// What orders two events.
    package enum Key: String, Equatable, Sendable {
        case sequence
        case occurredAt = "occurred_at"
    }

    /// Decides about one event. Equal is taken; corrections and ends always are.
    package static func verdict(_ event: FeedEvent, after newest: Newest) -> Verdict {
        switch event.kind {
        case .correction, .end: return .take
        case .update, .heartbeat: break
        }
        guard let sequence = event.sequence, let last = newest.sequence else {
            guard let time = event.occurredAt, let lastTime = newest.occurredAt else { return .take }
            return time < lastTime ? .superseded(by: .occurredAt) : .take
        }
        if isOfFormerCount(event, newest) { return .superseded(by: .occurredAt) }
        guard sequence < last else { return .take }
        let isFarBack = last - sequence > restartDrop || sequence <= restartFloor
        guard isFarBack, let time = event.occurredAt, let lastTime = newest.occurredAt, time > lastTime else {
            return .superseded(by: .sequence)
        }
        return .restart
    }

    /// The newest accepted event once this one is accepted. A correction of the former count does not bring it back.
    package static func newest(_ newest: Newest, taking event: FeedEvent, _ verdict: Verdict) -> Newest {
        var newest = newest
        switch verdict {
        case .superseded: return newest
        case .restart: (newest.sequence, newest.restartedAt) = (event.sequence, event.occurredAt)
        case .take where isOfFormerCount(event, newest): break
        case .take: newest.sequence = [newest.sequence, event.sequence].compactMap(\.self).max()
        }
        newest.occurredAt = [newest.occurredAt, event.occurredAt].compactMap(\.self).max()
        return newest
    }

    /// Whether the event was counted before the feed began anew, and only came afterwards.
    private static func isOfFormerCount(_ event: FeedEvent, _ newest: Newest) -> Bool {
        guard let time = event.occurredAt, let since = newest.restartedAt else { return false }
        return time < since
    }

    /// The order in which events that came together are taken, as indices into `events`.
    ///
    /// By sequence when any has one, else by time; an event without the key stays behind its predecessor. By time too where
    /// the feed counts anew within these events: a sequence lower by more than ``restartDrop`` although it happened later.
    package static func arranged(_ events: [FeedEvent]) -> [Int] {
        let byTime = arranged(events.map { $0.occurredAt?.microseconds })
        guard events.contains(where: { $0.sequence != nil }) else { return byTime }
        let counted = byTime.compactMap { index in
            events[index].occurredAt.flatMap { time in events[index].sequence.map { (time: time, sequence: $0) } }
        }
        let restarts = zip(counted, counted.dropFirst()).contains { before, after in
            after.time > before.time && after.sequence < before.sequence
                && before.sequence - after.sequence > restartDrop
        }
        return restarts ? byTime : arranged(events.map(\.sequence))
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
