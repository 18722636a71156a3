import Testing

@testable import HTTP2

@Suite("The liveness of a silent connection")
struct LivenessTests {
    private let start = ContinuousClock.now

    private func make() -> Liveness {
        let intervals = Liveness.Intervals(
            busy: .seconds(5),
            idle: .seconds(60),
            timeout: .seconds(5),
            trustedSilence: .seconds(3),
            probeTimeout: .seconds(3),
            patience: .seconds(1)
        )
        return Liveness(intervals, now: start)
    }

    private func at(_ seconds: Double) -> ContinuousClock.Instant { start + .seconds(seconds) }

    @Test("an idle one is asked after a minute, is in doubt a second later, and dead after five")
    func idle() {
        var liveness = make()
        expect(liveness.check(busySince: nil, now: start), .wait(until: at(60)))
        expect(liveness.check(busySince: nil, now: at(60)), .ping)
        #expect(liveness.isAsked)
        #expect(!liveness.isInDoubt(now: at(60.9)))
        expect(liveness.check(busySince: nil, now: at(60.5)), .wait(until: at(61)))
        expect(liveness.check(busySince: nil, now: at(61)), .doubt)
        #expect(liveness.isInDoubt(now: at(61)))
        expect(liveness.check(busySince: nil, now: at(62)), .wait(until: at(65)))
        expect(liveness.check(busySince: nil, now: at(65)), .dead)
    }

    @Test("any bytes answer the question")
    func answered() {
        var liveness = make()
        expect(liveness.check(busySince: nil, now: at(60)), .ping)
        liveness.received(now: at(61))
        #expect(!liveness.isAsked)
        #expect(!liveness.isInDoubt(now: at(70)))
        expect(liveness.check(busySince: nil, now: at(70)), .wait(until: at(121)))
    }

    @Test("a request on a connection that has been idle is given its own five seconds")
    func busyAfterIdle() {
        var liveness = make()
        expect(liveness.check(busySince: at(40), now: at(40)), .wait(until: at(45)))
        expect(liveness.check(busySince: at(40), now: at(45)), .ping)
    }

    @Test(
        "the first request after three silent seconds takes a PING along, whose answer may take three",
        arguments: [0, 2.9]
    )
    func probesAfterSilence(silence: Double) {
        var liveness = make()
        expect(liveness.used(now: at(silence)), false)
        expect(liveness.used(now: at(3)), true)
        #expect(liveness.isAsked)
        expect(liveness.used(now: at(3.1)), false)
        expect(liveness.check(busySince: at(3), now: at(3)), .wait(until: at(4)))
        expect(liveness.check(busySince: at(3), now: at(4)), .doubt)
        expect(liveness.check(busySince: at(3), now: at(5.9)), .wait(until: at(6.0)))
        expect(liveness.check(busySince: at(3), now: at(6.1)), .dead)
    }

    @Test("a request while the minute's PING is under way leaves it three seconds more at most")
    func usedWhileAsked() {
        var liveness = make()
        expect(liveness.check(busySince: nil, now: at(60)), .ping)
        expect(liveness.used(now: at(61)), false)
        _ = liveness.check(busySince: at(61), now: at(61))
        expect(liveness.check(busySince: at(61), now: at(61)), .wait(until: at(64)))
        expect(liveness.used(now: at(63)), false)
        expect(liveness.check(busySince: at(61), now: at(64)), .dead)
    }
}
