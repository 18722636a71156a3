import EventLoop
import HTTP2
import Testing

/// Does to a connection what its script says for each request.
private final class Script: HTTP2ServerHooks {
    typealias Act = @Sendable (Int32, HTTP2ServerRequest, isolated HTTP2ServerConnection) -> Void
    private let act: Act
    private let place: ServerPlace

    init(place: ServerPlace, act: @escaping Act) {
        self.place = place
        self.act = act
    }

    func requestReceived(
        _ request: HTTP2ServerRequest,
        on stream: Int32,
        of connection: isolated HTTP2ServerConnection
    ) {
        act(stream, request, connection)
    }

    func streamRefused(_ stream: Int32, acknowledged: Bool, of connection: isolated HTTP2ServerConnection) {
        var head = HTTP2HeaderBlock()
        head.append("refused-\(stream)-\(acknowledged)".utf8, "".utf8)
        act(-1, HTTP2ServerRequest(head: head), connection)
    }
}

private let ok = HTTP2HeaderBlock([":status": "200"])

@Suite("A server's HTTP/2 connection under its owner's control", .timeLimit(.minutes(4)))
struct HTTP2ServerConnectionTests {
    private func withConnection(
        _ change: (inout HTTP2ServerConfiguration) -> Void = { _ in },
        act: @escaping Script.Act,
        _ body: (RawClient) async throws -> Void
    ) async throws {
        var configuration = HTTP2ServerConfiguration()
        change(&configuration)
        let listener = try await ServerListener.start(
            on: .loopback(port: 0),
            loops: TestLoops.servers
        ) { [configuration] descriptor, place, loop in
            _ = try? HTTP2ServerConnection.start(
                adopting: descriptor,
                tls: nil,
                loop: loop,
                configuration: configuration,
                hooks: Script(place: place, act: act)
            )
        }
        let client = try await RawClient(port: listener.port)
        await client.send(Frames.preface + Frames.settings())
        try await body(client)
        await client.close()
        await listener.close()
    }

    @Test("hands over the header block and the body as they came")
    func request() async throws {
        try await withConnection(
            act: { stream, request, connection in
                var head = ok
                head.append("x-count", String(request.head.count).utf8)
                let body = request.body + Array(request.head.value(of: "x-a") ?? [])
                connection.respond(stream: stream, head: head, body: body)
            }
        ) { client in
            await client.send(
                Frames.headers(stream: 1, fields: [("x-a", "b"), ("x-a", "c")], endsStream: false)
                    + Frames.data(stream: 1, Array("body".utf8))
            )
            let frames = await client.frames { $0.contains { $0.hasSuffix("end") } }
            #expect(frames.last == "DATA 1 5 end")
        }
    }

    @Test("resets with any code, and says GOAWAY with any last stream: those above are never answered")
    func goAway() async throws {
        try await withConnection(act: { stream, _, connection in
            switch stream {
            case 1: connection.reset(stream: 1, code: 0x7)
            case 9:
                connection.submitGoAway(lastStream: 5, code: 0x0, debug: Array("{}".utf8))
                for stream in [Int32(3), 5, 7, 9] { connection.respond(stream: stream, head: ok) }
            default: break
            }
        }) { client in
            await client.send([1, 3, 5, 7, 9].flatMap { Frames.headers(stream: $0) })
            let all = await client.frames { _ in false }
            let frames = all.filter { !$0.contains("SETTINGS") && !$0.contains("WINDOW") }
            #expect(frames == ["RST_STREAM 1 code 7", "GOAWAY last 5 code 0 {}", "HEADERS 3 end", "HEADERS 5 end"])
        }
    }

    @Test("refuses streams above a limit that the peer cannot know yet, and ends a connection that knew it")
    func streamLimit() async throws {
        let seen = AsyncStream.makeStream(of: String.self)
        try await withConnection(
            { $0.maxConcurrentStreams = 1 },
            act: { stream, request, _ in
                let what = stream > 0 ? "request" : String(decoding: request.head.name(at: 0), as: UTF8.self)
                seen.continuation.yield(what)
            }
        ) { client in
            var events = seen.stream.makeAsyncIterator()
            await client.send(Frames.headers(stream: 1) + Frames.headers(stream: 3))
            #expect(await events.next() == "request")
            #expect(await events.next() == "refused-3-false")
            await client.send(Frames.settingsAcknowledged + Frames.headers(stream: 5))
            #expect(await events.next() == "refused-5-true")
            let frames = await client.frames { $0.contains { $0.hasPrefix("GOAWAY") } }
            #expect(frames.contains("RST_STREAM 3 code 7"))
            #expect(frames.last?.contains("code 1 ") == true)
        }
    }

    @Test("changes the stream limit at any time")
    func changedLimit() async throws {
        try await withConnection(act: { stream, _, connection in
            connection.submitMaxConcurrentStreams(1000)
            connection.respond(stream: stream, head: ok)
        }) { client in
            await client.send(Frames.headers(stream: 1))
            let frames = await client.frames { $0.count { $0 == "SETTINGS" } == 2 && $0.contains("HEADERS 1 end") }
            #expect(frames.count { $0 == "SETTINGS ACK" } == 1)
        }
    }

    @Test("plays dead: acknowledges no PING, answers nothing")
    func silence() async throws {
        let fell = AsyncStream.makeStream(of: HTTP2ServerConnection.self)
        try await withConnection(act: { stream, _, connection in
            connection.respond(stream: stream, head: ok)
            guard stream == 3 else { return }
            connection.setSilence(.deaf)
            fell.continuation.yield(connection)
        }) { client in
            await client.send(Frames.headers(stream: 1))
            _ = await client.frames { $0.contains("HEADERS 1 end") }
            let before = await client.receivedBytes
            await client.send(Frames.headers(stream: 3))
            var events = fell.stream.makeAsyncIterator()
            let connection = try #require(await events.next())
            await client.send(Frames.ping() + Frames.headers(stream: 5))
            await client.untilAllIsSent()
            // A job runs after the handlers of its turn, and a turn's writes go out at its end: after three turns of the
            // server's loop an answer to what was sent would be on its way, and would come before the end.
            for _ in 0..<3 { await connection.turnOfItsLoop() }
            await connection.close()
            _ = await client.receiveAll()
            #expect(await client.receivedBytes == before)
        }
    }

    @Test("answers from outside of a hook, from the loop or by await")
    func answersLater() async throws {
        try await withConnection(act: { stream, _, connection in
            if stream == 1 {
                connection.loop.schedule(at: .now + .milliseconds(1)) { [weak connection] in
                    connection?.assumeIsolated { $0.respond(stream: stream, head: ok) }
                }
            } else {
                Task { [connection] in await connection.respond(stream: stream, head: ok) }
            }
        }) { client in
            await client.send(Frames.headers(stream: 1) + Frames.headers(stream: 3))
            _ = await client.frames { $0.contains("HEADERS 1 end") && $0.contains("HEADERS 3 end") }
        }
    }

    @Test("delays every byte of its own")
    func delay() async throws {
        try await withConnection(
            { $0.outputDelay = .milliseconds(50) },
            act: { stream, _, connection in connection.respond(stream: stream, head: ok) }
        ) { client in
            let start = ContinuousClock.now
            await client.send(Frames.headers(stream: 1))
            _ = await client.frames { $0.contains("HEADERS 1 end") }
            #expect(ContinuousClock.now - start >= .milliseconds(45))
        }
    }

    @Test(
        "ends with ENHANCE_YOUR_CALM a peer that floods it",
        arguments: ["resets", "pings", "settings", "empty data"]
    )
    func floods(kind: String) async throws {
        try await withConnection(
            {
                $0.flood.resetBurst = 50
                $0.flood.controlBurst = 50
            },
            act: { _, _, _ in }
        ) { client in
            var bytes: [UInt8] = kind == "empty data" ? Frames.headers(stream: 1, endsStream: false) : []
            for index in 0..<UInt32(100) {
                switch kind {
                case "resets":
                    bytes += Frames.headers(stream: 2 * index + 1) + Frames.reset(stream: 2 * index + 1)
                case "pings": bytes += Frames.ping()
                case "settings": bytes += Frames.settings()
                default: bytes += Frames.data(stream: 1, [], endsStream: false)
                }
            }
            await client.send(bytes)
            let frames = await client.frames { $0.contains { $0.hasPrefix("GOAWAY") } }
            #expect(frames.last?.contains("code 11 ") == true)
        }
    }

    @Test("tells a peer that sends no frames, and ends")
    func noFrames() async throws {
        try await withConnection(act: { _, _, _ in }) { client in
            await client.send("GET / HTTP/1.1\r\n\r\n")
            let frames = await client.frames { _ in false }
            #expect(frames.last?.hasPrefix("GOAWAY last 0 code 6 ") == true)
        }
    }
}

extension HTTP2ServerConnection {
    /// Returns in a turn of the loop that began after the call.
    fileprivate func turnOfItsLoop() async {
        await withCheckedContinuation { continuation in
            loop.perform { continuation.resume() }
        }
    }
}
