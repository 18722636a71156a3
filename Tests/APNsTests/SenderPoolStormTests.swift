import APNs
import APNsProtocol
import Synchronization
import TestSupport
import Testing

/// A peer that takes one push on each connection and then does something to the rest, until it has recovered.
@Suite("A sender pool in a storm of reconnects", .timeLimit(.minutes(2)))
struct SenderPoolStormTests {
    private typealias Server = ScriptedHTTP2Server

    enum Shape: CaseIterable {
        case goAway, shutdown, idleTimeout, calm, tokenUpdates, reset
    }

    @Test(
        "few connections, at most three requests for each push that is taken, and all are taken",
        arguments: Shape.allCases
    )
    func storms(shape: Shape) async throws {
        let storm = 12
        let taken = Mutex(0)
        try await withScriptedPool(greeting: Server.settings(streamLimit: 1000)) { configuration in
            configuration.startsSlowly = true
            configuration.firstReconnect = .milliseconds(5)
            configuration.longestReconnect = .milliseconds(40)
        } _: { server, pool in
            await server.onFrame { server, frame in
                let connection = frame.connection
                if frame.type == 0, !frame.payload.isEmpty {
                    server.send(Server.windowUpdate(UInt32(frame.payload.count)), on: connection)
                }
                guard frame.endsStream else { return false }
                if connection >= storm || frame.stream == 1 {
                    if connection < storm { taken.withLock { $0 += 1 } }
                    server.respond(frame.stream, on: connection)
                    return true
                }
                switch shape {
                case .goAway: server.send(Server.goAway(lastStream: 1), on: connection)
                case .calm: server.send(Server.goAway(lastStream: 1, code: 11), on: connection)
                case .shutdown:
                    server.respond(frame.stream, status: 503, body: #"{"reason":"Shutdown"}"#, on: connection)
                case .idleTimeout:
                    server.respond(frame.stream, status: 400, body: #"{"reason":"IdleTimeout"}"#, on: connection)
                case .tokenUpdates:
                    let body = #"{"reason":"TooManyProviderTokenUpdates"}"#
                    server.respond(frame.stream, status: 429, body: body, on: connection)
                case .reset: server.send(Server.reset(frame.stream, code: 7), on: connection)
                }
                return true
            }
            let outcomes = await pool.send(try Pushes.batch(0..<400))
            #expect(outcomes.allSatisfy { $0 == .accepted(uniqueID: nil) })
            let during = await server.frames.count { $0.isRequest && $0.connection < storm }
            // A connection that refuses streams is replaced when it has done so to one alone, four times.
            let most = shape == .reset ? 2 + 4 : 2
            #expect(during <= taken.withLock { $0 } * (1 + most), "\(during)")
        }
    }

    @Test("a peer that wants quiet is given seconds, whatever waits", arguments: [false, true])
    func calm(byReset: Bool) async throws {
        try await withScriptedPool { configuration in
            configuration.connectionsPerLane = 4
            configuration.firstReconnect = .seconds(10)
            configuration.longestReconnect = Patience.long
        } _: { server, pool in
            let sending = Task { await pool.send(try Pushes.batch(0..<20)) }
            await server.openStreams(19)
            await server.send(byReset ? Server.reset(3, code: 11) : Server.goAway(lastStream: 1, code: 11))
            await pool.until { byReset ? $0.unknown == 1 : $0.connections == 0 }
            let next = Task { await pool.send(try Pushes.batch(20..<21, urgency: .urgent)) }
            // It waits, and nothing was opened for it.
            await pool.until { $0.waiting == (byReset ? 1 : 20) }
            #expect(pool.counts.connectionsOpened == 1)
            next.cancel()
            sending.cancel()
            if byReset { for stream in stride(from: Int32(5), through: 39, by: 2) { await server.respond(stream) } }
            let outcomes = try await next.value
            #expect(outcomes == [.notProcessed])
        }
    }
}

@Suite("A peer that refuses streams above a limit that it has not announced", .timeLimit(.minutes(2)))
struct SenderPoolRefusalTests {
    private typealias Server = ScriptedHTTP2Server

    @Test("of 1,000 tokens none is given up, and few requests are for nothing", arguments: [1, 5, 50], [false, true])
    func learnsTheLimit(limit: Int, startsSlowly: Bool) async throws {
        let open = Mutex(0)
        try await withScriptedPool(greeting: Server.settings(streamLimit: 1000)) { configuration in
            configuration.connectionsPerLane = 1
            configuration.startsSlowly = startsSlowly
        } _: { server, pool in
            await server.onFrame { server, frame in
                if frame.type == 0, !frame.payload.isEmpty {
                    server.send(Server.windowUpdate(UInt32(frame.payload.count)), on: frame.connection)
                }
                guard frame.endsStream else { return false }
                let isTaken = open.withLock { open in
                    guard open < limit else { return false }
                    open += 1
                    return true
                }
                guard isTaken else {
                    server.send(Server.reset(frame.stream, code: 7), on: frame.connection)
                    return true
                }
                // When all that came together has been looked at.
                Task {
                    open.withLock { $0 -= 1 }
                    server.respond(frame.stream, on: frame.connection)
                }
                return true
            }
            let outcomes = await pool.send(try Pushes.batch(0..<1000))
            #expect(outcomes.allSatisfy { $0 == .accepted(uniqueID: nil) })
            let requests = await server.requests().count
            // The first burst, and one in eight after that.
            #expect(requests <= 1000 + 1000 / 8 + 400, "\(requests)")
            #expect(pool.counts.connectionsOpened == 1)
        }
    }

    @Test("a connection that refuses even a single stream is replaced after four")
    func refusesEverything() async throws {
        try await withScriptedPool { server, pool in
            await server.onFrame { server, frame in
                guard frame.endsStream else { return false }
                if frame.connection == 0, frame.stream > 1 {
                    server.send(Server.reset(frame.stream, code: 7))
                } else {
                    server.respond(frame.stream, on: frame.connection)
                }
                return true
            }
            let outcomes = await pool.send(try Pushes.batch(0..<3))
            #expect(outcomes.allSatisfy { $0 == .accepted(uniqueID: nil) })
            #expect(pool.counts.connectionsClosed == [.replaced: 1])
            #expect(await server.requests(on: 0).count <= 1 + 2 + 4)
        }
    }
}
