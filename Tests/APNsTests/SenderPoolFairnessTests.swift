import APNs
import APNsProtocol
import HTTP2
import TestSupport
import Testing

@Suite("A sender pool that has more to send than it can", .timeLimit(.minutes(2)))
struct SenderPoolFairnessTests {
    private typealias Server = ScriptedHTTP2Server

    /// Both connections' windows hold as many routine pushes as they may, the queue is at its bound, and more wait outside.
    private func fill(
        _ server: ScriptedHTTP2Server,
        _ pool: SenderPool,
        in group: inout ThrowingTaskGroup<[Outcome], any Error>
    ) async throws {
        for number in 0..<40 {
            let batch = try Pushes.batch(number * 100..<number * 100 + 100)
            group.addTask { await pool.send(batch) }
        }
        // (65,535 - 6,144) / 200
        for connection in 0..<2 {
            await server.until { $0.requests(on: connection).count == 1 }
            await server.respond(1, on: connection)
            await server.until { $0.requests(on: connection).count == 296 }
        }
        await pool.until { $0.inFlight == 2 * 295 && $0.outside > 0 && $0.waitingRoutine > 900 }
    }

    @Test("writes an urgent push to a channel though all windows are full, its queue too, and more wait outside")
    func overtakes() async throws {
        try await withScriptedPool(greeting: Server.settings(streamLimit: 1000)) { configuration in
            configuration.connectionsPerLane = 2
            configuration.queueLimit = 1000
            configuration.urgentReserve = HTTP2Reserve(streams: 8, windowBytes: 6 * 1024)
        } _: { server, pool in
            try await withThrowingTaskGroup(of: [Outcome].self) { group in
                try await fill(server, pool, in: &group)
                let push = try Pushes.channelPush()
                async let outcomes = pool.send(push)
                // Nothing was answered meanwhile, and no window widened.
                await server.until { $0.requests().count == 2 * 296 + 1 && ($0.frames.last?.endsStream ?? false) }
                #expect(pool.counts.waitingUrgent == 0)
                let request = try Pushes.required(await server.requests().last)
                await server.respond(request.stream, on: request.connection)
                #expect(await outcomes == [.accepted(uniqueID: nil)])
                #expect(pool.urgentQueueTimes.map(\.count) == [1])
                group.cancelAll()
                await server.stop()
                while try await group.next() != nil {}
            }
        }
    }

    @Test("lets another tenant's batch in, and past, though the first has filled the queue and hears nothing")
    func isFairBetweenLanes() async throws {
        try await withScriptedPool(greeting: Server.settings(streamLimit: 10)) { configuration in
            configuration.connectionsPerLane = 1
            configuration.queueLimit = 200
        } _: { server, pool in
            try await withThrowingTaskGroup(of: [Outcome].self) { group in
                for number in 0..<20 {
                    let batch = try Pushes.batch(number * 100..<number * 100 + 100)
                    group.addTask { await pool.send(batch) }
                }
                await server.openStreams(10)
                await pool.until { $0.outside > 0 }
                let other = LaneKey(environment: .production, role: .push, credential: CredentialID(2))
                let batch = try Pushes.batch(5000..<5100, lane: other)
                async let outcomes = pool.send(batch)
                await server.onFrame { server, frame in
                    if frame.endsStream, frame.connection == 1 { server.respond(frame.stream, on: 1) }
                    return false
                }
                await server.until { $0.requests(on: 1).count >= 1 }
                // It may have come before the server was told to answer.
                if await server.requests(on: 1).count == 1, pool.counts.accepted == 1 { await server.respond(1, on: 1) }
                #expect(await outcomes.allSatisfy { $0 == .accepted(uniqueID: nil) })
                #expect(pool.counts.outside > 0)
                group.cancelAll()
                await server.stop()
                while try await group.next() != nil {}
            }
        }
    }

    @Test("opens connections by itself while pushes wait, twice as many at a time, and no more than needed")
    func growsByItself() async throws {
        try await withScriptedPool(greeting: Server.settings(streamLimit: 10)) { configuration in
            configuration.connectionsPerLane = 16
        } _: { server, pool in
            let batch = try Pushes.batch(0..<44)
            async let outcomes = pool.send(batch)
            await server.until { $0.requests(on: 0).count == 1 }
            #expect(await server.connectionCount == 1)
            await server.respond(1)
            // 10 of the 43 others are open; 33 wait.
            await server.until { $0.requests(on: 1).count == 1 }
            await server.respond(1, on: 1)
            await server.until { $0.requests(on: 2).count == 1 && $0.requests(on: 3).count == 1 }
            for connection: Int in 2...3 { await server.respond(1, on: connection) }
            // Four more may have been on their way already: then they have some of what four had room for. Nothing waits any
            // more.
            await server.until { $0.requests().count == 44 }
            for connection in 0..<(await server.connectionCount) {
                for request in await server.requests(on: connection).dropFirst(connection < 4 ? 1 : 0) {
                    await server.respond(request.stream, on: connection)
                }
            }
            #expect(await outcomes.allSatisfy { $0 == .accepted(uniqueID: nil) })
            #expect((4...8).contains(pool.counts.connectionsOpened))
        }
    }
}
