import APNs
import APNsProtocol
import TestSupport
import Testing

@Suite("A sender pool that is stopped with hundreds of pushes in hand", .timeLimit(.minutes(1)))
struct SenderPoolStoppingTests {
    private typealias Server = ScriptedHTTP2Server

    @Test("waits for what APNs answers in time")
    func waits() async throws {
        try await withScriptedPool(greeting: Server.settings(streamLimit: 1000)) { server, pool in
            async let sending = pool.send(try Pushes.batch(0..<601, payloadBytes: 100))
            await server.openStreams(600)
            async let drained: Void = pool.drain(by: .patient)
            // A batch that comes now is not let in.
            await pool.until { _ in true }
            for stream in stride(from: Int32(3), through: 1201, by: 2) { await server.respond(stream) }
            #expect(try await sending.allSatisfy { $0 == .accepted(uniqueID: nil) })
            await drained
            let late = await pool.send(try Pushes.batch(700..<710))
            #expect(late == Array(repeating: .notProcessed, count: 10))
            #expect(pool.counts.notProcessedBy == [.closing: 10])
            #expect(pool.counts.connections == 0 && pool.counts.inFlight == 0)
        }
    }

    @Test("says of the rest what is true: under way is unknown, waiting inside and outside was not sent")
    func tellsTheTruth() async throws {
        try await withScriptedPool(greeting: Server.settings(streamLimit: 300)) { configuration in
            configuration.connectionsPerLane = 1
            configuration.queueLimit = 400
        } _: { server, pool in
            try await withThrowingTaskGroup(of: [Outcome].self) { group in
                for number in 0..<10 {
                    let batch = try Pushes.batch(number * 100..<number * 100 + 100)
                    group.addTask { await pool.send(batch) }
                }
                await server.openStreams(300)
                await pool.until { $0.inFlight == 300 && $0.outside > 0 }
                let begin = ContinuousClock.now
                await pool.drain(by: begin + .milliseconds(300))
                #expect(begin.duration(to: .now) < .seconds(10))
                let outcomes = try await group.reduce(into: []) { $0 += $1 }
                #expect(outcomes.count == 1000)
                #expect(outcomes.count { $0 == .accepted(uniqueID: nil) } == 1)
                #expect(outcomes.count { $0 == .unknown("connection lost") } == 300)
                #expect(outcomes.count { $0 == .notProcessed } == 699)
                // Nothing was written that is called not sent.
                #expect(await server.requests().count == 301)
                let counts = pool.counts
                #expect(counts.unknownBy == [.connectionLost: 300] && counts.notProcessedBy == [.closing: 699])
                #expect(counts.waiting == 0 && counts.outside == 0 && counts.inFlight == 0 && counts.ended == 1000)
            }
        }
    }

    @Test("a credential that goes takes what waits with it, and lets finish what is under way")
    func cancelsLane() async throws {
        try await withScriptedPool(greeting: Server.settings(streamLimit: 4)) { configuration in
            configuration.connectionsPerLane = 1
            configuration.queueLimit = 30
        } _: { server, pool in
            async let first = pool.send(try Pushes.batch(0..<20))
            async let second = pool.send(try Pushes.batch(20..<40))
            await server.openStreams(4)
            await pool.until { $0.outside > 0 || $0.waiting == 35 }
            await pool.cancel(Pushes.lane)
            for stream: Int32 in [3, 5, 7, 9] { await server.respond(stream) }
            let outcomes = try await first + second
            #expect(outcomes.count { $0 == .accepted(uniqueID: nil) } == 5)
            #expect(outcomes.count { $0 == .notProcessed } == 35)
            #expect(pool.counts.outside == 0)
        }
    }

    @Test(
        "a batch of a task that was cancelled beforehand ends once, wherever it would have waited",
        arguments: [10, 1000]
    )
    func isCancelledBeforehand(queueLimit: Int) async throws {
        try await withScriptedPool(greeting: Server.settings(streamLimit: 1)) { configuration in
            configuration.connectionsPerLane = 1
            configuration.queueLimit = queueLimit
        } _: { server, pool in
            let first = try Pushes.batch(0..<20)
            async let sending = pool.send(first)
            await server.until { $0.requests().count == 1 }
            for number in 1...50 {
                let batch = try Pushes.batch(number * 20..<number * 20 + 20)
                let cancelled = Task {
                    // Waits until it is cancelled.
                    while !Task.isCancelled { await Task.yield() }
                    return await pool.send(batch)
                }
                cancelled.cancel()
                #expect(await cancelled.value == Array(repeating: .notProcessed, count: 20))
            }
            #expect(pool.counts.notProcessedBy == [.withdrawn: 1000])
            await server.set(answersRequests: true)
            await server.respond(1)
            #expect(await sending.allSatisfy { $0 == .accepted(uniqueID: nil) })
        }
    }
}
