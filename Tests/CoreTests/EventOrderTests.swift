import Core
import Testing

@Suite("The order of a match's events")
struct EventOrderTests {
    private static let id = EventID(unchecked: "1")
    private static let last = Timestamp(seconds: 100)

    private func event(_ sequence: Int64?, at seconds: Int64? = nil, _ kind: EventKind = .update) -> FeedEvent {
        FeedEvent(id: Self.id, kind: kind, sequence: sequence, occurredAt: seconds.map { Timestamp(seconds: $0) })
    }

    @Test("later than the newest is taken, equal too; corrections and ends always")
    func order() {
        func verdict(_ event: FeedEvent) -> EventOrder.Verdict {
            EventOrder.verdict(event, after: .init(sequence: 10, occurredAt: Self.last))
        }
        #expect(verdict(event(9)) == .superseded(by: .sequence))
        #expect(verdict(event(10)) == .take)
        #expect(verdict(event(11, at: 99)) == .take)
        #expect(verdict(event(nil, at: 99)) == .superseded(by: .occurredAt))
        #expect(verdict(event(nil, at: 100)) == .take)
        #expect(verdict(event(nil)) == .take)
        #expect(verdict(event(9, at: nil, .heartbeat)) == .superseded(by: .sequence))
        #expect(verdict(event(9, at: nil, .correction)) == .take)
        #expect(verdict(event(9, at: nil, .end)) == .take)
    }

    @Test(
        "begins anew with a sequence far back that happened later",
        arguments: [
            // By more than 1,000, or down to 10 or less; and only with a time that is later than the newest.
            (last: 5_000, sequence: 3_999, time: 101, restarts: true),
            (last: 5_000, sequence: 4_000, time: 101, restarts: false),
            (last: 57, sequence: 10, time: 101, restarts: true), (last: 57, sequence: 0, time: 101, restarts: true),
            (last: 57, sequence: 11, time: 101, restarts: false), (last: 57, sequence: 3, time: 100, restarts: false),
            (last: 57, sequence: 3, time: 99, restarts: false), (last: 57, sequence: 3, time: nil, restarts: false),
            (last: 4_000_000_000_000_000_000, sequence: 58, time: 101, restarts: true),
        ] as [(last: Int64, sequence: Int64, time: Int64?, restarts: Bool)]
    )
    func restart(last: Int64, sequence: Int64, time: Int64?, restarts: Bool) {
        let newest = EventOrder.Newest(sequence: last, occurredAt: Self.last)
        for kind in [EventKind.update, .heartbeat] {
            let verdict = EventOrder.verdict(event(sequence, at: time, kind), after: newest)
            #expect(verdict == (restarts ? .restart : .superseded(by: .sequence)))
        }
    }

    @Test("needs a time of the newest event to begin anew")
    func restartWithoutTime() {
        let verdict = EventOrder.verdict(event(1, at: 101), after: .init(sequence: 57))
        #expect(verdict == .superseded(by: .sequence))
    }

    @Test("is not brought back by what was counted before it began anew")
    func formerCount() {
        var newest = EventOrder.Newest(sequence: 300, occurredAt: Self.last)
        func take(_ event: FeedEvent) -> EventOrder.Verdict {
            let verdict = EventOrder.verdict(event, after: newest)
            newest = EventOrder.newest(newest, taking: event, verdict)
            return verdict
        }
        #expect(take(event(1, at: 110)) == .restart)
        #expect(newest == .init(sequence: 1, occurredAt: Timestamp(seconds: 110), restartedAt: Timestamp(seconds: 110)))
        // A late one of the former count, also as a correction, which is taken whatever its place.
        #expect(take(event(301, at: 105)) == .superseded(by: .occurredAt))
        #expect(take(event(302, at: 106, .correction)) == .take)
        #expect(newest.sequence == 1)
        #expect(take(event(2, at: 111)) == .take)
        #expect(take(event(12, at: 109)) == .superseded(by: .occurredAt))
        #expect(take(event(13, at: 112)) == .take)
        #expect(newest.sequence == 13)
    }

    @Test("lines of a match are arranged before they are taken")
    func arranged() {
        #expect(EventOrder.arranged([event(3), event(1), event(nil), event(2)]) == [1, 2, 3, 0])
        #expect(EventOrder.arranged([event(nil, at: 5), event(nil, at: 5), event(nil, at: 1)]) == [2, 0, 1])
        #expect(EventOrder.arranged([event(nil), event(nil)]) == [0, 1])
        // What was reported late keeps its place by sequence.
        #expect(EventOrder.arranged([event(9, at: 3), event(8, at: 5)]) == [1, 0])
    }

    @Test("lines among which a feed counts anew are arranged by time")
    func arrangedAnew() {
        let lines = [event(2, at: 4), event(5_000, at: 1), event(1, at: 3), event(5_001, at: 2)]
        #expect(EventOrder.arranged(lines) == [1, 3, 2, 0])
    }
}
