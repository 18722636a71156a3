import Testing

@testable import HTTP2

@Suite("The stream limit of a peer that does not announce it")
struct StreamLimitTests {
    /// A peer that takes `limit` streams at once and refuses the others, and answers what it took a round trip later.
    private func send(_ pushes: Int, limit: Int, startsSlowly: Bool) -> (requests: Int, most: Int) {
        var learnt = StreamLimit(startsSlowly: startsSlowly)
        var (left, requests, most) = (pushes, 0, 0)
        while left > 0 {
            let written = min(left, learnt.streams, 150)
            requests += written
            let taken = min(written, limit)
            for refused in 0..<written - taken { learnt.refused(open: written - refused - 1) }
            most = max(most, taken)
            for _ in 0..<taken { learnt.answered() }
            left -= taken
        }
        return (requests, most)
    }

    @Test(
        "refused streams are few, whatever the limit, and all that the peer takes at once is used",
        arguments: [1, 2, 5, 20, 100],
        [false, true]
    )
    func learns(limit: Int, startsSlowly: Bool) {
        let (requests, most) = send(1000, limit: limit, startsSlowly: startsSlowly)
        // The first burst, without a slow start, and then the rises.
        #expect(requests <= 1000 + 150 + 1000 / 8, "\(requests)")
        #expect(most == limit)
    }

    @Test("one that starts slowly has at most twice as many open as were answered")
    func startsSlowly() {
        var limit = StreamLimit(startsSlowly: true)
        #expect(limit.streams == 1)
        for answered in 1...500 {
            limit.answered()
            #expect(limit.streams == 2 * answered)
        }
        for _ in 0..<12 { limit.answered() }
        #expect(limit.streams == .max)
    }

    @Test("several refusals at once leave what was left open, and never none")
    func refusals() {
        var limit = StreamLimit(startsSlowly: false)
        #expect(limit.streams == .max)
        for open in (5..<100).reversed() { limit.refused(open: open) }
        #expect(limit.streams == 5)
        limit.refused(open: 0)
        #expect(limit.streams == 1)
    }

    @Test("it creeps up again, each rise larger than the last, until there is none")
    func creepsUp() {
        var limit = StreamLimit(startsSlowly: false)
        limit.refused(open: 10)
        var rises: [Int] = []
        for _ in 0..<1000 {
            let before = limit.streams
            limit.answered()
            if limit.streams != before { rises.append(limit.streams) }
        }
        #expect(rises.prefix(5) == [11, 13, 17, 25, 41])
        #expect(limit.streams == .max)
    }

    @Test("a higher limit in SETTINGS is the peer's own word; a slow start stays one")
    func announced() {
        var limit = StreamLimit(startsSlowly: false)
        limit.refused(open: 3)
        limit.announcedHigher()
        #expect(limit.streams == .max)
        var slow = StreamLimit(startsSlowly: true)
        slow.announcedHigher()
        #expect(slow.streams == 1)
    }

    @Test("a connection's slots learn it, but not from what a GOAWAY leaves out")
    func slots() {
        var slots = StreamSlots(localLimit: 1000, firstRequestAlone: false)
        for _ in 0..<8 { slots.opened() }
        for _ in 0..<3 { expect(slots.ended(.refused), .none) }
        #expect(slots.available == 0)
        expect(slots.ended(.answered(provesAccess: true)), .none)
        #expect(slots.available == 1)
        slots.settingsReceived(streamLimit: 500)
        #expect(slots.available == 496)
    }
}
