import Testing

@testable import HTTP2

@Suite("The free streams of a connection")
struct StreamSlotsTests {
    @Test("one alone until a response proves access, then the smaller of both limits")
    func provesAccess() {
        var slots = StreamSlots(localLimit: 50, firstRequestAlone: true)
        slots.settingsReceived(streamLimit: 1000)
        #expect(slots.available == 1)
        slots.opened()
        #expect(slots.available == 0)
        expect(slots.ended(.answered(provesAccess: false)), .none)
        #expect(slots.available == 1)
        slots.opened()
        expect(slots.ended(.answered(provesAccess: true)), .none)
        #expect(slots.available == 50)
        slots.settingsReceived(streamLimit: 20)
        #expect(slots.available == 20)
    }

    @Test("SETTINGS of zero stop even the first request")
    func zeroLimit() {
        var slots = StreamSlots(localLimit: 50, firstRequestAlone: true)
        slots.settingsReceived(streamLimit: 0)
        #expect(slots.available == 0)
    }

    @Test("a limit that falls below the open streams lets none start until enough have ended")
    func limitFalls() {
        var slots = StreamSlots(localLimit: 100, firstRequestAlone: false)
        slots.settingsReceived(streamLimit: 10)
        for _ in 0..<10 { slots.opened() }
        slots.settingsReceived(streamLimit: 1)
        #expect(slots.available == 0)
        for _ in 0..<9 { expect(slots.ended(.answered(provesAccess: true)), .none) }
        #expect(slots.available == 0)
        expect(slots.ended(.answered(provesAccess: true)), .none)
        #expect(slots.available == 1)
    }

    @Test("a draining connection closes with its last stream, and at once without one")
    func drains() {
        var busy = StreamSlots(localLimit: 10, firstRequestAlone: false)
        busy.opened()
        busy.opened()
        expect(busy.drain(), .none)
        #expect(busy.available == 0)
        expect(busy.ended(.answered(provesAccess: true)), .none)
        // The second step of a drain changes nothing.
        expect(busy.drain(), .none)
        expect(busy.ended(.answered(provesAccess: true)), .closeConnection)
        expect(busy.drain(), .none)

        var idle = StreamSlots(localLimit: 10, firstRequestAlone: true)
        expect(idle.drain(), .closeConnection)
        #expect(idle.isDraining)
    }

    @Test("any order of facts keeps the open streams within what was allowed", arguments: 0..<50)
    func randomFacts(seed: UInt64) {
        var random = seed &* 0x9E37_79B9_7F4A_7C15 | 1
        func next(_ limit: UInt64) -> UInt64 {
            random ^= random << 13
            random ^= random >> 7
            random ^= random << 17
            return random % limit
        }
        var slots = StreamSlots(localLimit: 8, firstRequestAlone: next(2) == 0)
        var open = 0
        var isClosed = false
        for _ in 0..<500 where !isClosed {
            switch next(8) {
            case 0: slots.settingsReceived(streamLimit: Int(next(12)))
            case 1...4 where slots.available > 0:
                slots.opened()
                open += 1
                #expect(open <= 8)
            case 5...6 where open > 0:
                open -= 1
                isClosed = slots.ended(.answered(provesAccess: next(3) > 0)) == .closeConnection
            case 7 where next(40) == 0: isClosed = slots.drain() == .closeConnection
            default: break
            }
            #expect(slots.open == open)
            if isClosed { #expect(open == 0 && slots.isDraining) }
        }
    }
}
