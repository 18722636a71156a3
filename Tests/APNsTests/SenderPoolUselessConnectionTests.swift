import APNs
import APNsProtocol
import TestSupport
import Testing

/// Connections that are open and of no use. Connection 0 becomes such a one after its first answer; the others answer.
@Suite("A sender pool whose connection is alive and of no use", .timeLimit(.minutes(2)))
struct SenderPoolUselessConnectionTests {
    private typealias Server = ScriptedHTTP2Server

    private func withUselessConnection(
        answersPings: Bool = true,
        configure: (inout SenderPoolConfiguration) -> Void,
        _ body: (Server, SenderPool) async throws -> Void
    ) async throws {
        try await withScriptedPool { configuration in
            configuration.connectionsPerLane = 1
            configuration.unansweredPatience = .milliseconds(100)
            configure(&configuration)
        } _: { server, pool in
            await server.onFrame { server, frame in
                if frame.connection == 0, frame.type == 6 { return !answersPings }
                if frame.connection == 0, server.requests(on: 0).count > 1 { return frame.type <= 1 }
                if frame.endsStream { server.respond(frame.stream, on: frame.connection) }
                return false
            }
            #expect(await pool.send(try Pushes.batch(0..<1)) == [.accepted(uniqueID: nil)])
            try await body(server, pool)
        }
    }

    @Test("PINGs answered and no request: retired at a request's deadline, and what it held comes back at once")
    func answersOnlyPings() async throws {
        try await withUselessConnection {
            $0.busyPing = .milliseconds(20)
        } _: { server, pool in
            async let patient = pool.send(try Pushes.batch(1..<3))
            await server.until { $0.requests(on: 0).count == 3 }
            let first = await pool.send(try Pushes.batch(3..<4, deadline: .milliseconds(400)))
            #expect(first == [.unknown("no answer within the deadline")])
            #expect(try await patient == [.unknown("connection lost"), .unknown("connection lost")])
            await pool.until { $0.connectionsClosed == [.unanswered: 1] }
            #expect(await server.frames.contains { $0.connection == 0 && $0.type == 6 })
            #expect(await pool.send(try Pushes.batch(4..<6)).allSatisfy { $0 == .accepted(uniqueID: nil) })
        }
    }

    @Test("it is said, once, in words that tell it from a lost connection")
    func isSaid() async throws {
        let (sentences, report) = AsyncStream.makeStream(of: String.self)
        try await withUselessConnection {
            $0.report = { report.yield($0) }
        } _: { _, pool in
            _ = await pool.send(try Pushes.batch(1..<2, deadline: .milliseconds(200)))
            await pool.until { $0.connectionsClosed == [.unanswered: 1] }
        }
        report.finish()
        let said = await sentences.reduce(into: []) { $0.append($1) }
        #expect(said.count == 1)
        #expect(
            said.first?.contains("no answer to any request within its deadline, though it answers PINGs") == true,
            "\(said)"
        )
    }

    @Test("from half of the deadline on another connection is opened, though nothing waits, and preferred")
    func isInDoubt() async throws {
        try await withUselessConnection {
            $0.unansweredPatience = .milliseconds(1)
        } _: { server, pool in
            async let held = pool.send(try Pushes.batch(1..<2, deadline: .seconds(2)))
            await pool.until { $0.connectionsOpened == 2 }
            // Its deadline is a second away.
            #expect(pool.counts.unknown == 0)
            #expect(await pool.send(try Pushes.batch(2..<4)).allSatisfy { $0 == .accepted(uniqueID: nil) })
            #expect(await server.requests(on: 0).count == 2)
            #expect(try await held == [.unknown("no answer within the deadline")])
        }
    }

    @Test("a stream window of 0 for good: half a request is none, so nothing is in doubt")
    func streamWindowOfZero() async throws {
        try await withUselessConnection { _ in
        } _: { server, pool in
            await server.send(Server.settings([(4, 0)]))
            await server.until { $0.frames.count { $0.type == 4 && $0.flags & 1 == 1 } == 2 }
            let outcomes = await pool.send(try Pushes.batch(1..<3, deadline: .milliseconds(300)))
            #expect(outcomes == [.notProcessed, .notProcessed])
            await pool.until { $0.connectionsClosed == [.unanswered: 1] }
            #expect(await pool.send(try Pushes.batch(3..<5)).allSatisfy { $0 == .accepted(uniqueID: nil) })
        }
    }

    @Test("nothing but resets: retired after twenty")
    func resetsEverything() async throws {
        try await withScriptedPool { server, pool in
            await server.onFrame { server, frame in
                guard frame.endsStream else { return false }
                if frame.connection == 0, server.requests(on: 0).count > 1 {
                    server.send(Server.reset(frame.stream, code: 2))
                } else {
                    server.respond(frame.stream, on: frame.connection)
                }
                return true
            }
            for number in 0..<30 { _ = await pool.send(try Pushes.batch(number..<number + 1)) }
            #expect(pool.counts.unknownBy == [.reset: 20])
            #expect(pool.counts.accepted == 10)
            #expect(pool.counts.connectionsClosed == [.unanswered: 1])
        }
    }

    @Test("a link that died while idle: the first push takes a PING along, others go elsewhere, and it comes back soon")
    func diedWhileIdle() async throws {
        try await withUselessConnection(answersPings: false) {
            $0.trustedSilence = .zero
            $0.pingPatience = .milliseconds(50)
            $0.probeTimeout = .milliseconds(1500)
        } _: { server, pool in
            async let first = pool.send(try Pushes.batch(1..<2))
            await pool.until { $0.connectionsOpened == 2 }
            #expect(await server.frames.contains { $0.connection == 0 && $0.type == 6 })
            #expect(await pool.send(try Pushes.batch(2..<3)) == [.accepted(uniqueID: nil)])
            #expect(try await first == [.unknown("connection lost")])
            #expect(pool.counts.connectionsClosed == [.silence: 1])
        }
    }

    @Test("what must not be sent twice does not go to a connection that may have died: nothing of it is in doubt")
    func onceAfterIdle() async throws {
        try await withUselessConnection(answersPings: false) {
            $0.trustedSilence = .milliseconds(20)
            $0.pingPatience = .milliseconds(20)
            $0.probeTimeout = Patience.long
        } _: { server, pool in
            let begin = ContinuousClock.now
            await pool.until { _ in .now - begin > .milliseconds(20) }
            let outcomes = await pool.send(try Pushes.batch(1..<4, urgency: .urgent, isOnce: true))
            #expect(outcomes.allSatisfy { $0 == .accepted(uniqueID: nil) })
            #expect(await server.requests(on: 0).count == 1)
        }
    }
}

@Suite("Pushes that must not be sent twice", .timeLimit(.minutes(2)))
struct SenderPoolOnceTests {
    private typealias Server = ScriptedHTTP2Server

    @Test("a cut under a full page of them leaves few in doubt, and they hold up nobody")
    func cut() async throws {
        try await withScriptedPool { server, pool in
            async let page = pool.send(try Pushes.batch(0..<60, urgency: .urgent, isOnce: true))
            await server.openStreams(8)
            await pool.until { $0.inFlight == 8 && $0.waiting == 51 }
            async let urgent = pool.send(try Pushes.batch(100..<101, urgency: .urgent))
            await server.until { $0.requests(on: 0).count == 10 }
            await server.set(answersRequests: true)
            await server.respond(19)
            #expect(try await urgent == [.accepted(uniqueID: nil)])
            await server.resetConnection(0)
            let outcomes = try await page
            #expect(outcomes.count { $0 == .unknown("connection lost") } == 8)
            #expect(outcomes.count { $0 == .accepted(uniqueID: nil) } == 52)
        }
    }
}
