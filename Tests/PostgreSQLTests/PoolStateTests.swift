import Testing

@testable import PostgreSQL

@Suite("A pool's bookkeeping")
struct PoolStateTests {
    private let now = ContinuousClock.now

    /// A mutating call cannot stand inside `#expect`.
    private func after(_ state: inout PoolState, _ call: (inout PoolState) -> Bool) -> Bool { call(&state) }

    @Test("opens up to the limit, then lets callers wait, then refuses them")
    func limits() {
        var state = PoolState(limit: 2, mostWaiting: 1)
        #expect(after(&state, { $0.lease(now: now) == .open }))
        state.opened()
        #expect(after(&state, { $0.lease(now: now) == .open }))
        #expect(after(&state, { $0.lease(now: now) == .wait }))
        #expect(after(&state, { $0.lease(now: now) == .refuse }))
        #expect(after(&state, { $0.released(isUsable: true) }))
        #expect(state.waiting == 0)
        #expect(after(&state, { !$0.released(isUsable: true) }))
        #expect(state.idle == 1)
        #expect(after(&state, { $0.lease(now: now) == .takeIdle }))
    }

    @Test("makes room when a connection comes back unusable")
    func unusable() {
        var state = PoolState(limit: 1, mostWaiting: 1)
        #expect(after(&state, { $0.lease(now: now) == .open }))
        state.opened()
        #expect(after(&state, { $0.lease(now: now) == .wait }))
        #expect(after(&state, { !$0.released(isUsable: false) }))
        state.stoppedWaiting()
        #expect(after(&state, { $0.lease(now: now) == .open }))
    }

    @Test("backs off after a failure, longer after each, at most 2 s, and forgets at the first success")
    func backOff() {
        var state = PoolState(limit: 1, mostWaiting: 1)
        var longest = Duration.zero
        var time = now
        for _ in 0..<12 {
            #expect(after(&state, { $0.lease(now: time) == .open }))
            state.openFailed(now: time, jitter: 1)
            #expect(!state.isReachable)
            var pause = Duration.zero
            while state.lease(now: time + pause) == .backOff { pause += .milliseconds(10) }
            state.openFailed(now: time, jitter: 1)
            #expect(pause >= longest)
            longest = max(longest, pause)
            time += .seconds(10)
        }
        #expect(longest == .seconds(2))
        #expect(after(&state, { $0.lease(now: time) == .open }))
        state.opened()
        #expect(state.isReachable)
        #expect(after(&state, { !$0.released(isUsable: false) }))
        #expect(after(&state, { $0.lease(now: time) == .open }))
    }

    @Test("works with as many as the server lets in, and tries one more after 5 s")
    func refused() {
        var state = PoolState(limit: 4, mostWaiting: 9)
        for _ in 0..<3 { #expect(after(&state, { $0.lease(now: now) == .open })) }
        state.opened()
        #expect(state.openRefused(now: now, jitter: 1) == .askAgain)
        #expect(state.openRefused(now: now, jitter: 1) == .askAgain)
        #expect(state.isReachable)
        #expect(after(&state, { $0.lease(now: now + .seconds(4)) == .wait }))
        #expect(after(&state, { $0.lease(now: now + .seconds(5)) == .open }))
        #expect(after(&state, { $0.lease(now: now + .seconds(5)) == .wait }))
        state.opened()
        // It had room for that one: the next may try.
        #expect(after(&state, { $0.lease(now: now + .seconds(5)) == .open }))
        #expect(state.openRefused(now: now + .seconds(5), jitter: 1) == .askAgain)
        #expect(after(&state, { $0.lease(now: now + .seconds(9)) == .wait }))
    }

    @Test("tries for all while the server lets none in, one at a time, less and less often")
    func refusedAll() {
        var state = PoolState(limit: 4, mostWaiting: 9)
        #expect(after(&state, { $0.lease(now: now) == .open }))
        #expect(after(&state, { $0.lease(now: now) == .open }))
        #expect(state.openRefused(now: now, jitter: 1) == .askAgain)
        #expect(after(&state, { $0.lease(now: now) == .wait }))
        var pauses: [PoolState.RefusedAction] = []
        for _ in 0..<7 { pauses.append(state.openRefused(now: now, jitter: 1)) }
        #expect(
            pauses == [50, 100, 200, 400, 800, 1_000, 1_000].map { .retry(after: .milliseconds($0)) }
        )
        #expect(state.opening == 1 && state.waiting == 1)
        state.openGivenUp()
        state.stoppedWaiting()
        #expect(after(&state, { $0.lease(now: now) == .open }))
        state.opened()
        #expect(after(&state, { !$0.released(isUsable: true) }))
    }

    @Test("never counts more than its limit, whatever happens", arguments: 0..<20 as Range<UInt64>)
    func randomFacts(seed: UInt64) {
        var random = SplitMix(state: seed)
        var state = PoolState(limit: 5, mostWaiting: 7)
        var time = now
        for _ in 0..<2_000 {
            time += .milliseconds(Int(random.next() % 50))
            switch random.next() % 5 {
            case 0, 1: _ = state.lease(now: time)
            case 2 where state.opening > 0:
                switch random.next() % 8 {
                case 0, 1: state.openFailed(now: time, jitter: 0.5)
                case 2, 3: if state.openRefused(now: time, jitter: 0.5) != .askAgain { state.openGivenUp() }
                default: state.opened()
                }
            case 3 where state.leased > 0:
                if !state.released(isUsable: random.next() % 8 != 0), state.waiting > 0 { state.stoppedWaiting() }
            case 4 where state.waiting > 0: state.stoppedWaiting()
            default: break
            }
            #expect(state.idle + state.opening + state.leased <= 5)
            #expect(state.waiting <= 7 && min(state.idle, state.opening, state.leased, state.waiting) >= 0)
            // Nobody waits beside an idle connection.
            #expect(state.idle == 0 || state.waiting == 0)
        }
    }

    /// Steele, Lea and Flood, "Fast splittable pseudorandom number generators".
    private struct SplitMix {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var z = state
            z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
            z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
            return z ^ (z >> 31)
        }
    }
}
