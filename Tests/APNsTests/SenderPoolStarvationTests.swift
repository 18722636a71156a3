import APNsProtocol
import Synchronization
import TestSupport
import Testing

@testable import APNs

@Suite("When a lane asks others for a connection")
struct StarvationTests {
    private let start = ContinuousClock.now

    private func at(_ seconds: Double) -> ContinuousClock.Instant { start + .seconds(seconds) }

    @Test("after two seconds without one, again only after a pause, and anew once one has answered")
    func asks() {
        var starvation = Starvation(patience: .seconds(2), pause: .seconds(30))
        func waits(_ seconds: Double) -> Starvation.Action { starvation.waits(now: at(seconds)) }
        #expect(waits(0) == .wait(until: at(2)))
        #expect(waits(1.9) == .wait(until: at(2)))
        #expect(waits(2) == .ask)
        #expect(waits(3) == .wait(until: at(32)))
        #expect(waits(32) == .ask)
        starvation.served()
        #expect(waits(40) == .wait(until: at(42)))
        #expect(waits(42) == .ask)
    }
}

/// Each connection beside one that is open is closed at once.
@Suite("A sender pool whose peer allows one connection", .timeLimit(.minutes(2)))
struct SenderPoolStarvationTests {
    private typealias Server = ScriptedHTTP2Server

    private static let channels = LaneKey(environment: .production, role: .broadcast, credential: Pushes.credential)

    @Test("lanes take turns, whichever is idle, and whichever loop they are on", arguments: [1, 2])
    func lanesTakeTurns(loops: Int) async throws {
        let open = Mutex<Set<Int>>([])
        try await withScriptedPool(greeting: []) { configuration in
            configuration.loops = loops == 1 ? [TestLoops.pool] : [TestLoops.pool, TestLoops.second]
            configuration.starvationPatience = .milliseconds(100)
            configuration.firstReconnect = .milliseconds(20)
            configuration.longestReconnect = .milliseconds(100)
        } _: { server, pool in
            await server.onFrame { server, frame in
                let isServed = open.withLock { open in
                    if open.isEmpty { open.insert(frame.connection) }
                    if frame.type == 7 { open.remove(frame.connection) }
                    return frame.type == 7 || open.contains(frame.connection)
                }
                guard isServed else {
                    server.closeConnection(frame.connection)
                    return true
                }
                if frame.type == 4, frame.flags == 0 { server.send(Server.settings(), on: frame.connection) }
                if frame.endsStream { server.respond(frame.stream, on: frame.connection) }
                return frame.endsStream
            }
            for turn in 0..<3 {
                for lane in [Self.channels, Pushes.lane] {
                    let outcomes = await pool.send(try Pushes.batch(turn..<turn + 3, lane: lane))
                    #expect(outcomes.allSatisfy { $0 == .accepted(uniqueID: nil) })
                }
            }
            // Each gave its connection up for the other.
            #expect(pool.counts.connectionsClosed[.idle] == 5)
        }
    }
}
