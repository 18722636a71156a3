import Testing

@testable import APNs

@Suite("How long a lane rests before its next connection")
struct ReconnectRestTests {
    private typealias Yield = ReconnectRest.Yield

    private let start = ContinuousClock.now

    private func make() -> ReconnectRest { ReconnectRest(first: .milliseconds(200), most: .seconds(4)) }

    @Test(
        "a connection's yield is what it took, or how long it lived",
        arguments: [
            (0, 0, .none), (1, 1, .little), (3, 1, .little), (4, 1, .some), (99, 9, .some), (100, 0, .plenty),
            (1, 10, .plenty),
            (0, 3600, .none),
        ] as [(Int, Int, ReconnectRest.Yield)]
    )
    func yields(taken: Int, seconds: Int, expected: ReconnectRest.Yield) {
        #expect(Yield(taken: taken, life: .seconds(seconds)) == expected)
    }

    @Test(
        "none after plenty; doubling from 200 ms to 4 s after nothing, to 800 ms after little",
        arguments: [0, 0.999]
    )
    func grows(random: Double) {
        var rest = make()
        rest.ended(.plenty, began: start, now: start, random: random)
        #expect(rest.notBefore == nil)
        var now = start
        for expected in [200, 400, 800, 1600, 3200, 4000, 4000] {
            rest.ended(.none, began: now, now: now, random: random)
            let wait = now.duration(to: rest.notBefore ?? now)
            #expect(wait >= .milliseconds(expected) && wait <= .milliseconds(expected) * 1.5)
            now += wait
        }
        rest.ended(.little, began: now, now: now, random: random)
        let wait = now.duration(to: rest.notBefore ?? now)
        #expect(wait >= .milliseconds(800) && wait <= .milliseconds(1200))
        now += wait
        rest.ended(.some, began: now, now: now, random: random)
        #expect(now.duration(to: rest.notBefore ?? now) <= .milliseconds(300))
        rest.yielded()
        #expect(rest.notBefore == nil && rest.isTrusted)
    }

    @Test("several connections that end together count once, and those beside them wait too")
    func together() {
        var rest = make()
        for _ in 0..<16 { rest.ended(.little, began: start - .seconds(1), now: start, random: 0) }
        #expect(rest.notBefore == start + .milliseconds(200))
        rest.opening(now: start + .milliseconds(200), random: 0)
        #expect(rest.notBefore == start + .milliseconds(400))
    }

    @Test("after a minute the past is forgotten")
    func forgets() {
        var rest = make()
        for _ in 0..<6 { rest.ended(.none, began: start, now: start, random: 0) }
        let later = start + .seconds(61)
        rest.opening(now: later, random: 0)
        #expect(rest.notBefore.map { $0 < later } == true)
        rest.ended(.little, began: later, now: later, random: 0)
        #expect(rest.notBefore == later + .milliseconds(200))
    }

    @Test("a peer that asks for quiet is left alone for seconds, longer the next time")
    func calms() {
        var rest = make()
        rest.yielded()
        rest.calm(now: start, random: 0)
        #expect(rest.notBefore == start + .milliseconds(3200))
        #expect(!rest.isTrusted)
        // What else it asks at that moment is the same wish.
        rest.calm(now: start + .milliseconds(5), random: 0)
        rest.ended(.little, began: start - .seconds(5), now: start + .milliseconds(5), random: 0)
        #expect(rest.notBefore == start + .milliseconds(3200))
        rest.calm(now: start + .seconds(4), random: 0.999)
        #expect(rest.notBefore.map { $0 > start + .seconds(8) && $0 < start + .seconds(14) } == true)
    }

    /// Forty seconds of a peer whose connections each end after `taken` pushes, some round trips after they were opened.
    @Test(
        "at most five connections a second, and back within seconds",
        arguments: [0, 1, 2, 4, 20, 99],
        [0, 0.5, 0.999]
    )
    func storms(taken: Int, random: Double) {
        var growth = ConnectionGrowth(limit: 16, rest: make())
        var now = start
        var opened = 0
        let facts = ConnectionGrowth.Facts(waiting: 1000)
        while now < start + .seconds(40) {
            switch growth.decide(facts, now: now, random: random) {
            case .open:
                opened += 1
                let began = now
                now += .milliseconds(20)
                growth.ended(Yield(taken: taken, life: now - began), began: began, now: now, random: random)
            case .askAgain(let instant): now = instant
            case .none: preconditionFailure("pushes wait")
            }
        }
        #expect(opened <= 40 * 5, "\(opened)")
        // Where there is something to be had, it is fetched.
        #expect(taken == 0 ? opened < 25 : taken < 4 ? (30..<60).contains(opened) : opened > 100, "\(opened)")
        #expect(growth.rest.notBefore.map { $0 - now <= .seconds(6) } ?? true)
    }
}

@Suite("A connection's answers")
struct ConnectionHealthTests {
    private let start = ContinuousClock.now

    private func at(_ seconds: Double) -> ContinuousClock.Instant { start + .seconds(seconds) }

    /// A request of 15 seconds, written at 0, is never answered.
    @Test(
        "none since a request was written that has met its deadline: of no use",
        arguments: [
            (nil, .retire), (-1, .retire), (0.5, .keep), (14, .keep),
        ] as [(Double?, ConnectionHealth.Verdict)]
    )
    func retires(answeredAt: Double?, verdict: ConnectionHealth.Verdict) {
        var health = ConnectionHealth(patience: .seconds(3))
        if let answeredAt, answeredAt < 0 {
            health.wrote(now: at(-2), deadline: at(13))
            health.answered()
        }
        health.wrote(now: at(0), deadline: at(15))
        if let answeredAt, answeredAt > 0 { health.answered() }
        #expect(health.deadlinePassed(writtenAt: at(0), now: at(15)) == verdict)
    }

    @Test("from half of the deadline on it is in doubt, until it answers")
    func doubts() {
        var health = ConnectionHealth(patience: .seconds(3))
        #expect(!health.isInDoubt(now: at(100)))
        health.wrote(now: at(0), deadline: at(15))
        #expect(health.doubtfulFrom == at(7.5))
        #expect(!health.isInDoubt(now: at(7.4)))
        #expect(health.isInDoubt(now: at(7.5)))
        health.answered()
        #expect(!health.isInDoubt(now: at(20)))
        // The request that ends first counts, and no deadline is too short for patience.
        health.wrote(now: at(20), deadline: at(60))
        health.wrote(now: at(21), deadline: at(22))
        #expect(health.doubtfulFrom == at(22.5))
    }

    @Test("requests with little time left say little")
    func patience() {
        var health = ConnectionHealth(patience: .seconds(3))
        health.wrote(now: at(0), deadline: at(0.1))
        #expect(health.deadlinePassed(writtenAt: at(0), now: at(0.1)) == .keep)
        health.wrote(now: at(2.9), deadline: at(3))
        #expect(health.deadlinePassed(writtenAt: at(2.9), now: at(3)) == .retire)
    }

    @Test("nothing but resets is no answer either, and one answer in between is")
    func resets() {
        var health = ConnectionHealth(patience: .seconds(3))
        var verdicts = (0..<19).map { _ in health.reset() }
        health.answered()
        verdicts += (0..<19).map { _ in health.reset() }
        #expect(verdicts.allSatisfy { $0 == .keep })
        let last = health.reset()
        #expect(last == .retire)
    }
}
