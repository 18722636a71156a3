import APNs
import APNsProtocol
import Crypto
import EventLoop
import Foundation
import HTTP2
import Log
import Synchronization
import TestSupport
import Testing

@Suite("A sender pool when connections go wrong", .timeLimit(.minutes(2)))
struct SenderPoolConnectionTests {
    private typealias Server = ScriptedHTTP2Server

    @Test("a TCP reset in the middle of requests: these are unknown, the others go over the next connection")
    func resetMidRequest() async throws {
        try await withScriptedPool(greeting: Server.settings(streamLimit: 4)) { server, pool in
            async let sending = pool.send(try Pushes.batch(0..<9))
            await server.openStreams(4)
            await server.set(answersRequests: true)
            await server.resetConnection(0)
            let outcomes = try await sending
            #expect(outcomes.count { $0 == .unknown("connection lost") } == 4)
            #expect(outcomes.count { $0 == .accepted(uniqueID: nil) } == 5)
            #expect(pool.counts.connectionsClosed == [.reset: 1])
        }
    }

    @Test("a TCP reset of an idle connection costs no push anything")
    func resetIdle() async throws {
        try await withScriptedPool { server, pool in
            await server.set(answersRequests: true)
            let first = await pool.send(try Pushes.batch(0..<3))
            await server.resetConnection(0)
            await pool.until { $0.connections == 0 }
            let second = await pool.send(try Pushes.batch(3..<6))
            #expect((first + second).allSatisfy { $0 == .accepted(uniqueID: nil) })
            #expect(pool.counts.connectionsClosed == [.reset: 1])
            #expect(pool.counts.connectionsOpened == 2)
        }
    }

    @Test("silence without FIN: PINGs find it out, what was sent is unknown, the rest goes elsewhere")
    func silence() async throws {
        try await withScriptedPool(greeting: Server.settings(streamLimit: 4)) { configuration in
            configuration.connectionsPerLane = 1
            configuration.busyPing = .milliseconds(50)
            // Long enough for a busy machine's answer on the connection that is not silent.
            configuration.pingTimeout = .milliseconds(1500)
        } _: { server, pool in
            // Connection 0 falls silent once its second request has come; the others answer.
            await server.onFrame { server, frame in
                if frame.connection == 0 { return server.requests(on: 0).count > 1 && frame.type != 4 }
                if frame.endsStream { server.respond(frame.stream, on: frame.connection) }
                return false
            }
            async let sending = pool.send(try Pushes.batch(0..<9))
            await server.openStreams(4)
            let outcomes = try await sending
            #expect(outcomes.count { $0 == .unknown("connection lost") } == 4)
            #expect(outcomes.count { $0 == .accepted(uniqueID: nil) } == 5)
            #expect(pool.counts.connectionsClosed == [.silence: 1])
        }
    }

    /// The pool's root is another one, the certificate is for another name, or the server speaks another protocol.
    @Test("TLS that fails is said, and nothing was sent", arguments: ["root", "name", "h2"])
    func tlsFailures(fault: String) async throws {
        let folder = NSTemporaryDirectory() + "pool-tls-\(UUID().uuidString)"
        for part in ["server", "other"] {
            try FileManager.default.createDirectory(atPath: "\(folder)/\(part)", withIntermediateDirectories: true)
        }
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let addresses = fault == "name" ? [] : ["127.0.0.1"]
        let certificate = try TestCertificate.make(addresses: addresses, directory: "\(folder)/server")
        let other = try TestCertificate.make(directory: "\(folder)/other")
        let tls = try TLSContext.server(
            certificateFile: certificate.certificateFile,
            keyFile: certificate.keyFile,
            alpn: [fault == "h2" ? "http/1.1" : "h2"]
        )
        let server = try await Server.start(on: TestLoops.far, tls: tls)
        var configuration = SenderPoolConfiguration.testing(server)
        configuration.tls = try TLSContext.client(caFile: fault == "root" ? other.caFile : certificate.caFile)
        let (sentences, report) = AsyncStream.makeStream(of: String.self)
        configuration.report = { report.yield($0) }
        let log = LogFixture()
        configuration.log = log.logger("apns")
        try await withPool(configuration, ScriptedProviderTokens(["token"])) { pool in
            let sending = Task { await pool.send(try Pushes.batch(0..<5)) }
            await pool.until { $0.connectionsClosed[.tls, default: 0] >= 2 }
            sending.cancel()
            let outcomes = try await sending.value
            #expect(outcomes == Array(repeating: .notProcessed, count: 5))
            #expect(pool.counts.notProcessedBy == [.withdrawn: 5])
        }
        #expect(await server.requests().isEmpty)
        report.finish()
        let said = await sentences.reduce(into: []) { $0.append($1) }
        // However often it failed, it was said once.
        #expect(said.count == 1)
        let words = fault == "h2" ? "application protocol" : fault == "name" ? "IP address mismatch" : "certificate"
        #expect(said.allSatisfy { $0.localizedCaseInsensitiveContains(words) }, "\(said)")
        let line = await log.line(with: "warning apns: ", "cause=tls")
        #expect(line.localizedCaseInsensitiveContains(words), "\(line)")
        await server.stop()
    }

    @Test("asks for the name anew for each connection, and goes on to the next address when the first is dead")
    func asksForAddresses() async throws {
        let old = try await Server.start(on: TestLoops.far)
        let new = try await Server.start(on: TestLoops.far)
        let dead = try await Server.start(on: TestLoops.far)
        await dead.stop()
        await old.set(answersRequests: true)
        await new.set(answersRequests: true)
        var configuration = SenderPoolConfiguration.testing(old)
        let ports = Mutex([dead.port, old.port])
        configuration.resolve = { _, _, _ in ports.withLock { $0.map { SocketAddress.loopback(port: $0) } } }
        try await withPool(configuration, ScriptedProviderTokens(["token"])) { pool in
            let first = await pool.send(try Pushes.batch(0..<3))
            ports.withLock { $0 = [new.port] }
            // What is open stays where it is.
            let second = await pool.send(try Pushes.batch(3..<6))
            #expect(await old.requests().count == 6)
            await old.send(Server.goAway(lastStream: 11))
            await pool.until { $0.connections == 0 }
            let third = await pool.send(try Pushes.batch(6..<9))
            #expect((first + second + third).allSatisfy { $0 == .accepted(uniqueID: nil) })
            #expect(await new.requests().count == 3)
            #expect(pool.counts.connectionsClosed == [.goAway: 1])
        }
        await old.stop()
        await new.stop()
    }

    @Test(
        "a graceful GOAWAY costs nothing, whatever it says",
        arguments: [
            "", "Maximum active streams violated for this endpoint.", #"{"reason":"Shutdown"}"#, "\u{0}\u{1B}[2J",
        ]
    )
    func goAwayTexts(debug: String) async throws {
        let (sentences, report) = AsyncStream.makeStream(of: String.self)
        try await withScriptedPool(greeting: Server.settings(streamLimit: 4)) { configuration in
            configuration.connectionsPerLane = 1
            configuration.report = { report.yield($0) }
        } _: { server, pool in
            async let sending = pool.send(try Pushes.batch(0..<12))
            await server.openStreams(4)
            await server.set(answersRequests: true)
            await server.send(Server.goAway(lastStream: 9, debug: debug))
            for stream: Int32 in [3, 5, 7, 9] { await server.respond(stream) }
            #expect(try await sending.allSatisfy { $0 == .accepted(uniqueID: nil) })
            #expect(await server.requests().count == 12)
            await pool.until { $0.connectionsClosed == [.goAway: 1] }
            #expect(pool.counts.resent == 0)
        }
        report.finish()
        let said = await sentences.reduce(into: []) { $0.append($1) }
        #expect(said.count == (debug.isEmpty ? 0 : 1))
        #expect(said.allSatisfy { $0.unicodeScalars.allSatisfy { $0.value >= 0x20 } })
    }

    @Test("a GOAWAY with last stream 0 has taken nothing up: all of it goes over the next connection")
    func goAwayFromTheStart() async throws {
        try await withScriptedPool(greeting: Server.settings(streamLimit: 4)) { server, pool in
            async let sending = pool.send(try Pushes.batch(0..<12))
            await server.openStreams(4)
            await server.set(answersRequests: true)
            await server.send(Server.goAway(lastStream: 0, code: 7))
            #expect(try await sending.allSatisfy { $0 == .accepted(uniqueID: nil) })
            #expect(await server.requests().count == 12 + 4)
            #expect(pool.counts.resentBy == [.goAway: 4])
        }
    }

    @Test("a peer that goes away before its first answer is not asked in a tight loop")
    func goesAwayAtOnce() async throws {
        try await withScriptedPool(greeting: Server.settings() + Server.goAway(lastStream: 0)) { server, pool in
            let outcomes = await pool.send(try Pushes.batch(0..<10, deadline: .milliseconds(800)))
            // The one that goes alone may be under way when the deadline comes.
            #expect(outcomes.count { $0 == .notProcessed } >= 9)
            #expect(await server.connectionCount <= 8)
        }
    }
}
