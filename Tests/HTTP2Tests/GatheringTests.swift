import Testing

@testable import HTTP2

@Suite("The gathering of a connection's output")
struct GatheringTests {
    private let start = ContinuousClock.now

    /// Requests in turns of `perTurn`, `apart` from each other; how often something left within `turns` of them.
    private func leavings(perTurn: Int, apart: Duration, turns: Int) -> (count: Int, longestWait: Duration) {
        var gathering = Gathering(tick: .milliseconds(3))
        var now = start
        var waitingSince: ContinuousClock.Instant?
        var due: ContinuousClock.Instant?
        var count = 0
        var longest = Duration.zero
        for _ in 0..<turns {
            if let instant = due, instant <= now {
                // The timer.
                if gathering.decide(now: instant) == .now {
                    count += 1
                    longest = max(longest, waitingSince.map { $0.duration(to: instant) } ?? .zero)
                    waitingSince = nil
                }
                due = nil
            }
            for _ in 0..<perTurn { gathering.submitted() }
            waitingSince = waitingSince ?? now
            switch gathering.decide(now: now) {
            case .now:
                count += 1
                longest = max(longest, waitingSince.map { $0.duration(to: now) } ?? .zero)
                (waitingSince, due) = (nil, nil)
            case .at(let instant): due = instant
            }
            now += apart
        }
        return (count, longest)
    }

    @Test("lets what comes seldom leave at once")
    func seldom() {
        #expect(leavings(perTurn: 1, apart: .milliseconds(1), turns: 1000) == (1000, .zero))
        #expect(leavings(perTurn: 100, apart: .milliseconds(10), turns: 100) == (100, .zero))
        var lone = Gathering(tick: .milliseconds(3))
        lone.submitted()
        #expect(lone.decide(now: start) == .now)
    }

    @Test("gathers a stream of requests for a tick, and never longer")
    func gathers() {
        let (count, longest) = leavings(perTurn: 1, apart: .microseconds(100), turns: 10_000)
        #expect(300...400 ~= count, "\(count)")
        #expect(longest <= .milliseconds(3))
    }

    @Test("leaves what fills records by itself to the turns")
    func plenty() {
        let (count, longest) = leavings(perTurn: 100, apart: .microseconds(500), turns: 1000)
        #expect(count > 950 && longest <= .milliseconds(3), "\(count)")
    }

    @Test("does nothing where no tick is wanted")
    func none() {
        var gathering = Gathering(tick: .zero)
        for _ in 0..<100 { gathering.submitted() }
        #expect(gathering.decide(now: start) == .now)
        #expect(gathering.decide(now: start) == .now)
    }

    @Test("counts what left for an urgent request")
    func urgent() {
        var gathering = Gathering(tick: .milliseconds(3))
        for _ in 0..<10 { gathering.submitted() }
        #expect(gathering.decide(now: start) == .now)
        gathering.left(now: start + .milliseconds(2))
        for _ in 0..<10 { gathering.submitted() }
        #expect(gathering.decide(now: start + .milliseconds(4)) == .at(start + .milliseconds(5)))
    }
}
