import Core
import Testing

@Suite("A straggler whose time has come")
struct StragglerRuleTests {
    private static let now = Moment(seconds: 1_790_000_000)
    /// Version 5 is the newest, 4 was a goal with an alert that is still pending.
    private static let head = MatchHead(
        version: 5,
        urgentVersion: 4,
        alertVersion: 4,
        alertExpiresAt: now + .seconds(60)
    )

    private typealias Facts = StragglerFacts
    private typealias Decision = StragglerRule.Decision

    private static let plain = Decision.send(isUrgent: false, carriesAlert: false, takesOver: false)

    @Test(
        "is sent to if no sweep brings it the newest version, and what it lacks",
        arguments: [
            // A registration: the sweep's, or its own.
            (Facts(version: 5), plain),
            (Facts(version: 5, isUrgent: true), .send(isUrgent: true, carriesAlert: false, takesOver: false)),
            (Facts(version: 5, isCovered: true, isSwept: true), .leaveToSweep),
            (Facts(version: 4, isCovered: true, isSwept: true), .leaveToSweep),
            (Facts(version: 5, isUrgent: true, isCovered: true, isSweepNear: true), .leaveToSweep),
            // Pacing holds the sweep back: a phone that has just registered does not wait for it.
            (Facts(version: 5, isCovered: true), .send(isUrgent: false, carriesAlert: false, takesOver: true)),
            // A failure of the newest version's sweep.
            (Facts(version: 5, attempts: 1, isCovered: true), plain),
            (Facts(version: 5, attempts: 1, isCovered: true, isSwept: true), plain),
            // Of an older one's: the newest one's sweep stands for it, unless a goal would wait for pacing.
            (Facts(version: 4, attempts: 1, isCovered: true, isSwept: true), .leaveToSweep),
            (Facts(version: 4, isUrgent: true, attempts: 1, isCovered: true, isSwept: true), .leaveToSweep),
            (Facts(version: 4, attempts: 1, isCovered: true), .leaveToSweep),
            (Facts(version: 4, isUrgent: true, attempts: 1, isCovered: true, isSweepNear: true), .leaveToSweep),
            (
                Facts(version: 4, isUrgent: true, attempts: 1, isCovered: true),
                .send(isUrgent: true, carriesAlert: false, takesOver: true)
            ),
            // The alert: only if it was not had, and the sweep does not bring it.
            (Facts(version: 5, alertVersion: 4), .send(isUrgent: true, carriesAlert: true, takesOver: false)),
            (
                Facts(version: 4, alertVersion: 4, isCovered: true),
                .send(isUrgent: true, carriesAlert: true, takesOver: true)
            ),
            (
                Facts(version: 5, alertVersion: 4, isCovered: true, hearsFromSweep: true, isSweepNear: true),
                .leaveToSweep
            ),
            // A sweep that runs may have read the phone's row: the alert goes once it has passed, and nothing comes twice.
            (Facts(version: 5, alertVersion: 4, isCovered: true, isSweepNear: true, isSweepRunning: true), .wait),
            (
                Facts(version: 5, alertVersion: 4, isCovered: true, isSwept: true, isSweepRunning: true),
                .send(isUrgent: true, carriesAlert: true, takesOver: false)
            ),
            (
                Facts(version: 5, alertVersion: 4, isSweepNear: true, isSweepRunning: true),
                .send(isUrgent: true, carriesAlert: true, takesOver: false)
            ),
            (Facts(version: 5, alertVersion: 4, hearsFromSweep: true), plain),
            (
                Facts(version: 5, alertVersion: 4, attempts: 1, isCovered: true, hearsFromSweep: true),
                .send(isUrgent: true, carriesAlert: true, takesOver: false)
            ),
            (Facts(version: 5, alertVersion: 3), plain),
            (Facts(version: 5, alertVersion: 4, isInDoubt: true), .wait),
            (
                Facts(
                    version: 5,
                    alertVersion: 4,
                    isCovered: true,
                    hearsFromSweep: true,
                    isInDoubt: true,
                    isSwept: true
                ), .leaveToSweep
            ),
            (Facts(version: 5, alertVersion: 3, isInDoubt: true), plain),
            (Facts(version: 5, alertVersion: 4, isExpired: true), .expire),
        ] as [(StragglerFacts, StragglerRule.Decision)]
    )
    func decisions(facts: StragglerFacts, expected: StragglerRule.Decision) {
        #expect(StragglerRule.decide(facts, head: Self.head, now: Self.now) == expected)
    }

    @Test("an alert that is too old or taken back is not waited for, nor sent")
    func noAlert() {
        var head = Self.head
        let facts = Facts(version: 5, alertVersion: 4, isInDoubt: true)
        #expect(StragglerRule.decide(facts, head: head, now: Self.now + .seconds(60)) == Self.plain)
        head.alertExpiresAt = nil
        #expect(StragglerRule.decide(facts, head: head, now: Self.now) == Self.plain)
    }

    @Test("an end is always urgent")
    func end() {
        var head = Self.head
        head.endVersion = 5
        head.alertExpiresAt = nil
        #expect(
            StragglerRule.decide(Facts(version: 5), head: head, now: Self.now)
                == .send(isUrgent: true, carriesAlert: false, takesOver: false)
        )
    }
}
