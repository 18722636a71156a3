import Testing

@testable import APNs

@Suite("How many connections a lane has")
struct ConnectionGrowthTests {
    private let start = ContinuousClock.now

    private func decide(_ facts: ConnectionGrowth.Facts) -> ConnectionGrowth.Action {
        var growth = ConnectionGrowth(limit: 4, rest: ReconnectRest(first: .milliseconds(200), most: .seconds(4)))
        return growth.decide(facts, now: start, random: 0)
    }

    @Test(
        "as many more as there are while pushes wait, up to the limit",
        arguments: [
            (0, 0, 0, false), (1, 0, 0, true), (1, 0, 1, false), (1, 1, 0, true), (1, 1, 1, false), (1, 2, 1, true),
            (1, 3, 0, true), (1, 3, 1, false), (1, 4, 0, false), (1, 2, 2, false),
        ]
    )
    func grows(waiting: Int, ready: Int, unproven: Int, opens: Bool) {
        #expect(decide(.init(waiting: waiting, ready: ready, unproven: unproven)) == (opens ? .open : .none))
    }

    @Test(
        "none for what is gone before its handshake is, and one more than the limit for an urgent push",
        arguments: [
            (25, 100, 1, false, false), (26, 100, 1, false, true), (1, 100, 1, true, true),
            (9000, 4000, 4, false, false),
            (9000, 4000, 4, true, true), (9000, 4000, 5, true, false),
            // What is under way is on connections that drain, or are in doubt: they never take what waits.
            (1, 900, 0, false, true),
        ]
    )
    func growsForWhatIsWorthIt(waiting: Int, inFlight: Int, ready: Int, isUrgent: Bool, opens: Bool) {
        let facts = ConnectionGrowth.Facts(
            waiting: waiting,
            ready: ready,
            unproven: 0,
            inFlight: inFlight,
            isUrgent: isUrgent
        )
        #expect(decide(facts) == (opens ? .open : .none))
    }

    @Test(
        "those in doubt have others in their place, one at a time, and never more than twice the limit",
        arguments: [
            (1, 0, 0, true), (1, 0, 1, false), (4, 0, 0, true), (8, 0, 0, true), (9, 0, 0, false), (4, 4, 0, false),
        ]
    )
    func replacesThoseInDoubt(inDoubt: Int, ready: Int, unproven: Int, opens: Bool) {
        let facts = ConnectionGrowth.Facts(waiting: 1, ready: ready, unproven: unproven, inDoubt: inDoubt)
        #expect(decide(facts) == (opens ? .open : .none))
    }

    @Test("idle ones go, the last of a lane much later")
    func shrinks() {
        func isSurplus(_ idle: Duration, others: Int) -> Bool {
            ConnectionGrowth.isSurplus(
                idleFor: idle,
                others: others,
                shrinkAfter: .seconds(60),
                closeAfter: .seconds(3600)
            )
        }
        #expect(!isSurplus(.seconds(59), others: 1))
        #expect(isSurplus(.seconds(60), others: 1))
        #expect(!isSurplus(.seconds(3599), others: 0))
        #expect(isSurplus(.seconds(3600), others: 0))
    }
}
