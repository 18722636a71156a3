import EventLoop
import HTTP2
import TestSupport
import Testing

@Suite("An HTTP/2 client connection", .timeLimit(.minutes(5)))
struct HTTP2ClientTests {
    private typealias Server = ScriptedHTTP2Server

    private func connect(
        to server: ScriptedHTTP2Server,
        configuration: HTTP2ClientConfiguration = .patient
    ) async throws -> HTTP2Client {
        try await HTTP2Client.connect(
            host: "127.0.0.1",
            port: server.port,
            tls: nil,
            on: TestLoops.near,
            by: .patient,
            configuration: configuration
        )
    }

    private func request(_ target: String = "/", body: [UInt8] = []) -> HTTPRequest {
        HTTPRequest(method: "POST", authority: "", target: target, body: body)
    }

    /// Starts `count` requests and hands out how each ended.
    private func send(_ count: Int, on client: HTTP2Client, body: [UInt8] = []) -> Task<[HTTP2Error?], Never> {
        Task {
            await withTaskGroup(of: HTTP2Error?.self) { group in
                for number in 0..<count {
                    group.addTask {
                        do throws(HTTP2Error) {
                            _ = try await client.send(request("/\(number)", body: body), by: .patient)
                            return nil
                        } catch {
                            return error
                        }
                    }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
        }
    }

    @Test("answers many requests at once")
    func answersMany() async throws {
        let server = try await Server.start(on: TestLoops.far)
        await server.set(answersRequests: true)
        let client = try await connect(to: server)
        let ends = await send(500, on: client, body: [1, 2, 3]).value
        #expect(ends == Array(repeating: nil, count: 500))
        await client.close()
        await server.stop()
    }

    @Test("sends the first request alone, and the others after a good answer only")
    func firstRequestAlone() async throws {
        let server = try await Server.start(on: TestLoops.far, greeting: Server.settings(streamLimit: 1000))
        var configuration = HTTP2ClientConfiguration.patient
        configuration.firstRequestAlone = true
        let client = try await connect(to: server, configuration: configuration)
        let ends = send(5, on: client)
        await server.until { $0.requests().count == 1 }
        await server.respond(1, status: 403)
        await server.until { $0.requests().count == 2 }
        await server.respond(3)
        await server.until { $0.requests().count == 5 }
        for stream: Int32 in [5, 7, 9] { await server.respond(stream) }
        #expect(await ends.value.allSatisfy { $0 == nil })
        await client.close()
        await server.stop()
    }

    @Test("follows every change of the peer's stream limit")
    func followsStreamLimit() async throws {
        let server = try await Server.start(on: TestLoops.far, greeting: Server.settings(streamLimit: 2))
        let client = try await connect(to: server)
        // The first SETTINGS are there once a request has been answered.
        let first = send(1, on: client)
        await server.until { $0.requests().count == 1 }
        await server.respond(1)
        _ = await first.value
        let ends = send(6, on: client)
        await server.until { $0.requests().count == 3 }
        await server.send(Server.settings(streamLimit: 1))
        await server.respond(3)
        // One of two has ended and the limit is one: nothing new until the other ends.
        await server.respond(5)
        await server.until { $0.requests().count == 4 }
        await server.send(Server.settings(streamLimit: 100))
        await server.until { $0.requests().count == 7 }
        for stream: Int32 in [7, 9, 11, 13] { await server.respond(stream) }
        #expect(await ends.value.allSatisfy { $0 == nil })
        await client.close()
        await server.stop()
    }

    @Test("keeps to both flow-control windows")
    func keepsToWindows() async throws {
        // Streams of 100 bytes; the connection's 65,535 hold all of these bodies.
        let server = try await Server.start(on: TestLoops.far, greeting: Server.settings([(4, 100)]))
        let client = try await connect(to: server)
        let body = [UInt8](repeating: 7, count: 250)
        let ends = send(1, on: client, body: body)
        let dataBytes: @Sendable (isolated Server) -> Int = { server in
            server.frames.filter { $0.type == 0 }.reduce(0) { $0 + $1.payload.count }
        }
        // nghttp2 may send up to 65,535 before it has read our SETTINGS: so many that a peer must take.
        await server.until { dataBytes($0) == 100 || dataBytes($0) == 250 }
        if await dataBytes(server) == 100 {
            await server.send(Server.windowUpdate(100, stream: 1))
            await server.until { dataBytes($0) == 200 }
            await server.send(Server.windowUpdate(100, stream: 1))
            await server.until { dataBytes($0) == 250 }
        }
        await server.respond(1)
        #expect(await ends.value == [nil])

        // 65,535 less 250 are left of the connection's window.
        let large = send(1, on: client, body: [UInt8](repeating: 7, count: 70_000))
        await server.until { $0.requests().count == 2 }
        await server.send(Server.windowUpdate(100_000, stream: 3))
        await server.until { dataBytes($0) == 65_535 }
        await server.send(Server.windowUpdate(100_000))
        await server.until { dataBytes($0) == 70_250 }
        await server.respond(3)
        #expect(await large.value == [nil])
        await client.close()
        await server.stop()
    }

    @Test("drains in two steps: open requests finish, those above the last stream may be repeated")
    func drainsInTwoSteps() async throws {
        let server = try await Server.start(on: TestLoops.far)
        let client = try await connect(to: server)
        let ends = send(4, on: client)
        await server.until { $0.requests().count == 4 }
        await server.send(Server.goAway(lastStream: .max))
        // The first step has arrived when this request has been answered behind it.
        await server.respond(1)
        while await client.isUsable {}
        await #expect(throws: HTTP2Error.notProcessed) { try await client.send(request(), by: .patient) }
        await server.send(Server.goAway(lastStream: 3))
        await server.respond(3)
        let results = await ends.value
        #expect(results.filter { $0 == nil }.count == 2)
        #expect(results.filter { $0 == .notProcessed }.count == 2)
        #expect(await server.requests().count == 4)
        await server.stop()
    }

    @Test("tells a refused stream from a reset one")
    func tellsResets() async throws {
        let server = try await Server.start(on: TestLoops.far)
        let client = try await connect(to: server)
        let ends = send(2, on: client)
        await server.until { $0.requests().count == 2 }
        await server.send(Server.reset(1, code: 7))
        await server.send(Server.reset(3, code: 2))
        #expect(Set(await ends.value) == [HTTP2Error.notProcessed, .streamReset(code: 2)])
        await client.close()
        await server.stop()
    }

    @Test("gives a request up at its deadline, and the others go on")
    func keepsDeadlines() async throws {
        let server = try await Server.start(on: TestLoops.far)
        let client = try await connect(to: server)
        let patient = send(1, on: client)
        await server.until { $0.requests().count == 1 }
        await #expect(throws: HTTP2Error.deadlinePassed(written: true)) {
            try await client.send(request(), by: .now + .milliseconds(20))
        }
        // The stream was reset, with CANCEL.
        await server.until { $0.frames.contains { $0.type == 3 && $0.payload == [0, 0, 0, 8] } }
        await server.respond(1)
        #expect(await patient.value == [nil])
        await client.close()
        await server.stop()
    }

    @Test("finds out by a PING that the peer is gone")
    func findsSilentPeer() async throws {
        let server = try await Server.start(on: TestLoops.far)
        await server.set(answersPings: false)
        var configuration = HTTP2ClientConfiguration.patient
        configuration.busyPing = .milliseconds(20)
        configuration.pingTimeout = .milliseconds(20)
        let client = try await connect(to: server, configuration: configuration)
        guard case .connectionLost? = await send(1, on: client).value.first ?? nil else {
            Issue.record("the request should have ended with its connection")
            return
        }
        #expect(await server.frames.contains { $0.type == 6 })
        #expect(await !client.isUsable)
        await server.stop()
    }

    @Test("says why it cannot connect")
    func saysWhyItCannotConnect() async throws {
        let server = try await Server.start(on: TestLoops.far)
        await server.stop()
        await #expect(throws: HTTP2Error.cannotConnect("127.0.0.1:\(server.port): Connection refused")) {
            _ = try await connect(to: server)
        }
        await #expect(throws: HTTP2Error.self) {
            _ = try await HTTP2Client.connect(
                host: "no-such-host.invalid",
                port: 443,
                tls: nil,
                on: TestLoops.near,
                by: .patient
            )
        }
    }
}
