import APNsProtocol
import Core
import Testing

@Suite("When failures are an outage")
struct OutageRuleTests {
    private static let busy = Outcome.later(after: nil, reason: "ServiceUnavailable")
    private static let lost = Outcome.unknown("connection lost")

    private func tally(_ outcomes: [Outcome]) -> RouteTally { RouteTally(outcomes.map { Disposition($0) }) }

    @Test("any answer for good says that APNs works; a refusal is one")
    func answered() {
        for outcome in [
            Outcome.accepted(uniqueID: nil), .tokenDead(asOfMilliseconds: nil), .configuration("Forbidden"),
        ] {
            let tally = tally([Self.busy, outcome, Self.lost])
            #expect(tally.answered == 1 && tally.failed == 2)
            #expect(!OutageRule.isOutage(tally, isWhole: true, sinceAnswer: nil))
        }
        #expect(!OutageRule.isOutage(tally([]), isWhole: true, sinceAnswer: nil))
    }

    @Test(
        "twenty failures are one at once; fewer only of a whole target, where nothing was answered for a while",
        arguments: [
            (20, false, 0, true), (19, false, 600, false), (19, true, 4, false), (19, true, 5, true),
            (1, true, nil, true),
            (1, false, nil, false),
        ] as [(Int, Bool, Int?, Bool)]
    )
    func begins(failed: Int, isWhole: Bool, sinceAnswer: Int?, isOutage: Bool) {
        let tally = tally(Array(repeating: Self.busy, count: failed))
        #expect(OutageRule.isOutage(tally, isWhole: isWhole, sinceAnswer: sinceAnswer.map { .seconds($0) }) == isOutage)
    }

    @Test("lost connections are told from what APNs says")
    func connectionLoss() {
        #expect(tally([Self.lost, .notProcessed, .later(after: .zero, reason: "Shutdown")]).isConnectionLoss)
        #expect(!tally([Self.lost, Self.busy]).isConnectionLoss)
    }

    @Test("while it stands one push probes, a key gets one push by itself, and all others wait for the probe")
    func gates() {
        #expect(OutageRule.gate(nextProbe: nil, isUntriedKey: false) == .send)
        #expect(OutageRule.gate(nextProbe: .seconds(3), isUntriedKey: true) == .send)
        #expect(OutageRule.gate(nextProbe: .seconds(3), isUntriedKey: false) == .wait(.seconds(3)))
        #expect(OutageRule.gate(nextProbe: .zero, isUntriedKey: false) == .probe)
        #expect(OutageRule.gate(nextProbe: .seconds(-600), isUntriedKey: true) == .probe)
    }
}
