import Core
import Store
import TestSupport
import Testing

@Suite("The order of events, in the database and in Core", .database, .timeLimit(.minutes(5)))
struct EventOrderStoreTests {
    /// Steele, Lea, Flood: SplitMix64.
    private struct Random: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = state
            mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
            return mixed ^ (mixed >> 31)
        }
    }

    @Test("is the same rule", arguments: 0..<4 as Range<UInt64>)
    func agrees(seed: UInt64) async throws {
        let match = try await SendingFixture(store: TestDatabase.current.store())
        var random = Random(state: seed)
        var events: [IncomingEvent] = []
        for number in 0..<300 {
            let sequences: [Int64?] = [nil, 0, 1, 9, 10, 11, 12, 500, 1_011, 1_012, 1_500, 2_600, 5_000]
            let kinds: [EventKind] = [.update, .update, .update, .heartbeat, .correction]
            let time = Int64.random(in: -5..<10, using: &random)
            let event = FeedEvent(
                id: EventID(unchecked: "\(number)"),
                kind: kinds.randomElement(using: &random) ?? .update,
                sequence: sequences.randomElement(using: &random) ?? nil,
                // Mostly forward, sometimes back, sometimes not at all.
                occurredAt: time == 9 ? nil : Timestamp(seconds: 1_790_000_000 + Int64(number / 4) + time),
                contentState: RawJSON(text: "{}")
            )
            events.append(IncomingEvent(match: match.match, event: event, bodyDigest: [1]))
        }
        let outcomes = try await match.store.accept(events, tenant: match.tenant, by: SendingFixture.soon)
        var newest = EventOrder.Newest()
        var seen: Set<String> = []
        for (incoming, outcome) in zip(events, outcomes) {
            #expect(outcome.newest == newest)
            let verdict = EventOrder.verdict(incoming.event, after: newest)
            let (status, warnings): (String, [String]) =
                switch verdict {
                case .take: ("accepted", [])
                case .restart: ("accepted", ["sequence_restarted"])
                case .superseded: ("superseded", [])
                }
            guard "\(outcome.answer)".hasPrefix(status), outcome.warnings == warnings else {
                Issue.record("\(incoming.event), after \(newest): \(outcome), and not \(verdict)")
                return
            }
            newest = EventOrder.newest(newest, taking: incoming.event, verdict)
            seen.insert("\(verdict)")
        }
        #expect(seen.count == 4, "\(seen)")
    }
}
