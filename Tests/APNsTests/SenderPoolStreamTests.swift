import APNs
import APNsProtocol
import TestSupport
import Testing

@Suite("A sender pool when single streams go wrong", .timeLimit(.minutes(2)))
struct SenderPoolStreamTests {
    private typealias Server = ScriptedHTTP2Server

    @Test(
        "a reset of each code ends its push as unknown, but for a refused stream, which is sent again",
        arguments: 0...14
    )
    func resetsOfEachCode(code: UInt32) async throws {
        try await withScriptedPool { server, pool in
            async let sending = pool.send(try Pushes.batch(0..<4))
            await server.openStreams(3)
            await server.set(answersRequests: true)
            await server.send(Server.reset(3, code: code))
            for stream: Int32 in [5, 7] { await server.respond(stream) }
            let outcomes = try await sending
            let isRefused = code == 7
            #expect(outcomes.count { $0 == .accepted(uniqueID: nil) } == (isRefused ? 4 : 3))
            #expect(outcomes.count { $0 == .unknown("stream reset, code \(code)") } == (isRefused ? 0 : 1))
            #expect(await server.requests().count == (isRefused ? 5 : 4))
            #expect(pool.counts.resentBy == (isRefused ? [.refusedStream: 1] : [:]))
            #expect(pool.counts.unknownBy == (isRefused ? [:] : [.reset: 1]))
            #expect(pool.counts.connectionsOpened == 1)
        }
    }

    @Test("follows a stream limit from 1000 to 1 and back, and loses nothing")
    func followsLimits() async throws {
        try await withScriptedPool(greeting: Server.settings(streamLimit: 1000)) { server, pool in
            async let first = pool.send(try Pushes.batch(0..<301))
            await server.openStreams(300)
            await server.send(Server.settings(streamLimit: 1))
            await server.until { $0.frames.count { $0.type == 4 && $0.flags & 1 == 1 } == 2 }
            for stream in stride(from: Int32(3), through: 601, by: 2) { await server.respond(stream) }
            #expect(try await first.allSatisfy { $0 == .accepted(uniqueID: nil) })
            await server.send(Server.windowUpdate(65_535))

            async let second = pool.send(try Pushes.batch(400..<450))
            await server.until { $0.requests().count == 302 }
            await pool.until { $0.inFlight == 1 && $0.waiting == 49 }
            await server.respond(603)
            await server.until { $0.requests().count == 303 }
            await pool.until { $0.inFlight == 1 && $0.waiting == 48 }
            await server.send(Server.settings(streamLimit: 1000))
            await server.until { $0.requests().count == 351 }
            for stream in stride(from: Int32(605), through: 701, by: 2) { await server.respond(stream) }
            #expect(try await second.allSatisfy { $0 == .accepted(uniqueID: nil) })
            #expect(pool.counts.resent == 0)
        }
    }

    @Test("waits for SETTINGS that come late, with one request under way and PINGs unanswered meanwhile")
    func survivesLateSettings() async throws {
        try await withScriptedPool(greeting: []) { configuration in
            configuration.connectionsPerLane = 1
            configuration.busyPing = .milliseconds(50)
        } _: { server, pool in
            await server.onFrame { _, frame in frame.type == 4 || frame.type == 6 }
            async let sending = pool.send(try Pushes.batch(0..<5))
            await server.until { $0.frames.contains { $0.type == 6 } }
            #expect(await server.requests().count == 1)
            await server.send(Server.settings(streamLimit: 2))
            await server.onFrame { _, _ in false }
            await server.respond(1)
            await server.until { $0.requests().count == 3 }
            await pool.until { $0.inFlight == 2 && $0.waiting == 2 }
            await server.set(answersRequests: true)
            for stream: Int32 in [3, 5] { await server.respond(stream) }
            #expect(try await sending.allSatisfy { $0 == .accepted(uniqueID: nil) })
            #expect(await server.connectionCount == 1)
        }
    }

    @Test("an answer that stops half-way counts by its status where that says enough", arguments: [200, 400])
    func halfAnswers(status: Int) async throws {
        try await withScriptedPool { server, pool in
            async let sending = pool.send(try Pushes.batch(0..<3))
            await server.openStreams(2)
            for stream: Int32 in [3, 5] {
                await server.send(
                    Server.frame(type: 1, flags: 4, stream: stream, Server.headerBlock(status: status, []))
                )
            }
            await server.send(Server.reset(3, code: 8))
            await server.closeConnection(0)
            let outcomes = try await sending
            #expect(outcomes.count { $0 == .accepted(uniqueID: nil) } == (status == 200 ? 3 : 1))
            #expect(pool.counts.unknownBy == (status == 200 ? [:] : [.reset: 1, .connectionLost: 1]))
        }
    }

    @Test("ignores frames of a kind that it does not know")
    func ignoresUnknownFrames() async throws {
        try await withScriptedPool { server, pool in
            async let sending = pool.send(try Pushes.batch(0..<3))
            await server.until { $0.requests().count == 1 }
            await server.send(Server.frame(type: 0x2A, flags: 0xFF, stream: 0, [1, 2, 3]))
            await server.openStreams(2)
            await server.send(Server.frame(type: 0x2A, stream: 3, Array(repeating: 7, count: 9000)))
            for stream: Int32 in [3, 5] { await server.respond(stream) }
            #expect(try await sending.allSatisfy { $0 == .accepted(uniqueID: nil) })
            #expect(pool.counts.connectionsClosed == [:])
        }
    }

    @Test("a PUSH_PROMISE ends the connection, the open pushes as unknown, and the others go over the next one")
    func refusesPushPromise() async throws {
        try await withScriptedPool(greeting: Server.settings(streamLimit: 2)) { server, pool in
            async let sending = pool.send(try Pushes.batch(0..<6))
            await server.openStreams(2)
            await server.set(answersRequests: true)
            await server.send(
                Server.frame(type: 5, flags: 4, stream: 3, [0, 0, 0, 2] + Server.headerBlock(status: 200, []))
            )
            let outcomes = try await sending
            #expect(outcomes.count { $0 == .unknown("connection lost") } == 2)
            #expect(outcomes.count { $0 == .accepted(uniqueID: nil) } == 4)
            #expect(pool.counts.connectionsClosed == [.protocolError: 1])
            #expect(await server.connectionCount == 2)
        }
    }

    @Test("response fields over the limit reset their stream, and the connection goes on", arguments: [200, 400])
    func survivesLargeFields(status: Int) async throws {
        try await withScriptedPool { server, pool in
            async let sending = pool.send(try Pushes.batch(0..<3))
            await server.openStreams(2)
            let value = String(repeating: "x", count: 16_000)
            await server.send(
                Server.frame(type: 1, flags: 1, stream: 3, Server.headerBlock(status: status, [("date", value)]))
            )
            for number in 1...5 {
                let block = Array(Server.headerBlock(status: 200, [("x-\(number)", value)]).dropFirst())
                await server.send(Server.frame(type: 9, flags: number == 5 ? 4 : 0, stream: 3, block))
            }
            await server.until { $0.frames.contains { $0.type == 3 && $0.stream == 3 } }
            await server.respond(5)
            let outcomes = try await sending
            #expect(outcomes.count { $0 == .accepted(uniqueID: nil) } == (status == 200 ? 3 : 2))
            #expect(pool.counts.unknownBy == (status == 200 ? [:] : [.reset: 1]))
            #expect(pool.counts.connectionsOpened == 1)
        }
    }

    @Test("gives windows back however long the bodies of errors are")
    func givesWindowsBack() async throws {
        try await withScriptedPool(greeting: Server.settings(streamLimit: 100)) { server, pool in
            async let sending = pool.send(try Pushes.batch(0..<41))
            await server.openStreams(40)
            let body = String(repeating: "{", count: 16_000)
            // 40 of them are ten times the connection's window: it must be widened in between.
            for number in 0..<40 {
                await server.until { 65_535 + $0.windowUpdates() >= (number + 1) * 16_000 }
                await server.respond(Int32(3 + 2 * number), status: 400, body: body)
            }
            let outcomes = try await sending
            #expect(outcomes.count { $0 == .refused(status: 400, reason: "") } == 40)
            #expect(pool.counts.refused == ["none": 40])
        }
    }

    @Test("a connection whose stream numbers are used up is replaced, without a push lost")
    func replacesUsedUpConnections() async throws {
        try await withScriptedPool { configuration in
            configuration.connectionsPerLane = 1
            configuration.firstStream = .max - 4
        } _: { server, pool in
            await server.set(answersRequests: true)
            let outcomes = await pool.send(try Pushes.batch(0..<8))
            #expect(outcomes.allSatisfy { $0 == .accepted(uniqueID: nil) })
            #expect(await server.requests().map(\.stream).prefix(3) == [.max - 4, .max - 2, .max])
            #expect(await server.connectionCount == 3)
            await pool.until { $0.connectionsClosed[.streamIDs] == 2 }
            #expect(pool.counts.resent == 0)
        }
    }
}
