import APNs
import APNsProtocol
import TestSupport
import Testing

/// Played frame by frame, so that it is certain which streams were open when.
@Suite("A sender pool when a connection drains", .timeLimit(.minutes(5)))
struct SenderPoolDrainingTests {
    private typealias Server = ScriptedHTTP2Server

    private func whole(_ outcomes: [Outcome]) -> Bool { outcomes.allSatisfy { $0 == .accepted(uniqueID: nil) } }

    @Test("with 50 streams open, only those above GOAWAY's last stream are sent again", arguments: [1, 21, 41, 101])
    func resendsUnprocessedStreams(lastStream: Int32) async throws {
        let server = try await Server.start(on: TestLoops.far, greeting: Server.settings(streamLimit: 50))
        var configuration = SenderPoolConfiguration.testing(server)
        configuration.connectionsPerLane = 1
        try await withPool(configuration, ScriptedProviderTokens(["token"])) { pool in
            let sending = Task { try await pool.send(Pushes.batch(0..<51)) }
            await server.openStreams(50)
            await server.set(answersRequests: true)
            // Streams 3 to 101 are open.
            await server.send(Server.goAway(lastStream: lastStream, debug: #"{"reason":"Shutdown"}"#))
            for stream in stride(from: Int32(3), through: lastStream, by: 2) { await server.respond(stream) }
            let outcomes = try await sending.value
            #expect(whole(outcomes))
            let resent = Int(101 - lastStream) / 2
            #expect(await server.requests(on: 0).count == 51)
            #expect(await server.requests().count == 51 + resent)
            #expect(pool.counts.resent == resent)
        }
        await server.stop()
    }

    @Test("in two steps: nothing new on the old connection, everything on the next")
    func drainsInTwoSteps() async throws {
        let server = try await Server.start(on: TestLoops.far, greeting: Server.settings(streamLimit: 10))
        var configuration = SenderPoolConfiguration.testing(server)
        configuration.connectionsPerLane = 1
        try await withPool(configuration, ScriptedProviderTokens(["token"])) { pool in
            let sending = Task { try await pool.send(Pushes.batch(0..<30)) }
            await server.openStreams(10)
            await server.set(answersRequests: true)
            await server.send(Server.goAway(lastStream: .max))
            // The rest goes out on another connection before the second step comes.
            await server.until { $0.requests().count == 30 }
            #expect(await server.requests(on: 0).count == 11)
            await server.send(Server.goAway(lastStream: 5))
            for stream: Int32 in [3, 5] { await server.respond(stream) }
            let outcomes = try await sending.value
            #expect(whole(outcomes))
            #expect(await server.requests().count == 38)
        }
        await server.stop()
    }

    @Test("a refused stream is sent again, and only that")
    func resendsRefusedStream() async throws {
        let server = try await Server.start(on: TestLoops.far)
        try await withPool(.testing(server), ScriptedProviderTokens(["token"])) { pool in
            let sending = Task { try await pool.send(Pushes.batch(0..<3)) }
            await server.openStreams(2)
            await server.set(answersRequests: true)
            await server.send(Server.reset(3, code: 7))
            await server.respond(5)
            let outcomes = try await sending.value
            #expect(whole(outcomes))
            #expect(await server.requests().count == 4)
            #expect(pool.counts.resent == 1)
        }
        await server.stop()
    }

    @Test("a stream that is refused every time ends as not processed, when the budget is used up")
    func endsEndlessRefusals() async throws {
        let server = try await Server.start(on: TestLoops.far)
        var configuration = SenderPoolConfiguration.testing(server)
        configuration.connectionsPerLane = 1
        configuration.resendLimit = 2
        try await withPool(configuration, ScriptedProviderTokens(["token"])) { pool in
            let sending = Task { try await pool.send(Pushes.batch(0..<1)) }
            for stream: Int32 in [1, 3, 5] {
                await server.until { $0.requests(on: 0).contains { $0.stream == stream } }
                await server.send(Server.reset(stream, code: 7))
            }
            let outcomes = try await sending.value
            #expect(outcomes == [.notProcessed])
        }
        await server.stop()
    }

    @Test("what was written on a connection that breaks is unknown, and not sent again")
    func tellsUnknown() async throws {
        let server = try await Server.start(on: TestLoops.far, greeting: Server.settings(streamLimit: 5))
        var configuration = SenderPoolConfiguration.testing(server)
        configuration.connectionsPerLane = 1
        try await withPool(configuration, ScriptedProviderTokens(["token"])) { pool in
            let sending = Task { try await pool.send(Pushes.batch(0..<9)) }
            await server.openStreams(5)
            await server.set(answersRequests: true)
            await server.closeConnection(0)
            let outcomes = try await sending.value
            #expect(outcomes.count { $0 == .unknown("connection lost") } == 5)
            #expect(outcomes.count { $0 == .accepted(uniqueID: nil) } == 4)
            #expect(await server.requests().count == 9)
        }
        await server.stop()
    }

    @Test("withdraws what waits when the caller's task is cancelled, and lets finish what is under way")
    func withdrawsOnCancellation() async throws {
        let server = try await Server.start(on: TestLoops.far, greeting: Server.settings(streamLimit: 10))
        var configuration = SenderPoolConfiguration.testing(server)
        configuration.connectionsPerLane = 1
        try await withPool(configuration, ScriptedProviderTokens(["token"])) { pool in
            let sending = Task { try await pool.send(Pushes.batch(0..<100)) }
            await server.openStreams(10)
            sending.cancel()
            // Each round goes to the pool's loop and back.
            let another = LaneKey(environment: .sandbox, role: .push, credential: Pushes.credential)
            while pool.counts.waiting > 0 { await pool.cancel(another) }
            for stream in stride(from: Int32(3), through: 21, by: 2) { await server.respond(stream) }
            let outcomes = try await sending.value
            #expect(outcomes.count { $0 == .accepted(uniqueID: nil) } == 11)
            #expect(outcomes.count { $0 == .notProcessed } == 89)
        }
        await server.stop()
    }

    @Test("of several idle connections all but one are closed")
    func closesIdleConnections() async throws {
        let server = try await Server.start(on: TestLoops.far, greeting: Server.settings(streamLimit: 1))
        var configuration = SenderPoolConfiguration.testing(server)
        configuration.connectionsPerLane = 3
        configuration.shrinkAfter = .milliseconds(50)
        try await withPool(configuration, ScriptedProviderTokens(["token"])) { pool in
            let sending = Task { try await pool.send(Pushes.batch(0..<10)) }
            // One stream a connection: pushes wait, and so the lane grows, each time when the last has answered.
            await server.until { $0.requests(on: 0).count == 1 }
            await server.respond(1, on: 0)
            await server.until { $0.requests(on: 1).count == 1 }
            await server.respond(1, on: 1)
            await server.until { $0.requests(on: 2).count == 1 }
            await server.set(answersRequests: true)
            for connection in 0..<3 {
                await server.respond(await server.requests(on: connection).last?.stream ?? 1, on: connection)
            }
            let outcomes = try await sending.value
            #expect(whole(outcomes))
            await server.until { $0.closedCount == 2 }
        }
        await server.stop()
    }

    @Test("too many token updates replace the connection and keep the token")
    func replacesConnection() async throws {
        let server = try await Server.start(on: TestLoops.far)
        let tokens = ScriptedProviderTokens(["first", "second"])
        try await withPool(.testing(server), tokens) { pool in
            let sending = Task { try await pool.send(Pushes.batch(0..<1)) }
            await server.until { $0.requests(on: 0).count == 1 }
            await server.respond(1, status: 429, body: #"{"reason":"TooManyProviderTokenUpdates"}"#)
            await server.until { $0.requests(on: 1).count == 1 }
            await server.respond(1, on: 1)
            let outcomes = try await sending.value
            #expect(whole(outcomes))
        }
        #expect(await tokens.refusals == [.tooManyUpdates])
        await server.stop()
    }

    @Test("an expired token is replaced once, on a new connection; a second refusal is the outcome")
    func renewsTokenOnce() async throws {
        let server = try await Server.start(on: TestLoops.far)
        let tokens = ScriptedProviderTokens(["first", "second", "third"])
        let expired = #"{"reason":"ExpiredProviderToken"}"#
        try await withPool(.testing(server), tokens) { pool in
            let sending = Task { try await pool.send(Pushes.batch(0..<1)) }
            await server.until { $0.requests().count == 1 }
            await server.respond(1, status: 403, body: expired)
            // The first connection has carried a token less than twenty minutes ago.
            await server.until { $0.requests(on: 1).count == 1 }
            await server.respond(1, status: 403, body: expired, on: 1)
            let outcomes = try await sending.value
            #expect(outcomes == [.providerTokenExpired])
        }
        #expect(await tokens.refusals == [.expired])
        await server.stop()
    }
}
