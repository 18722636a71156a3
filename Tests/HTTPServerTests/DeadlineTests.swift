import HTTP2
import HTTPServer
import Testing

private let short = Duration.milliseconds(60)

@Suite("A server with slow clients", .timeLimit(.minutes(4)))
struct DeadlineTests {
    private func limits(_ change: (inout HTTPLimits) -> Void) -> HTTPLimits {
        var limits = HTTPLimits()
        change(&limits)
        return limits
    }

    @Test("answers 408 when a head trickles in", arguments: ["G", "GET / HTTP/1.1\r\nHost: a\r\nX: "])
    func slowHead(beginning: String) async throws {
        try await withServer(limits: limits { $0.headerDeadline = short }) { server in
            let client = try await RawClient(port: server.port)
            await client.send(beginning)
            let answer = await client.receive(through: "\r\n\r\n")
            #expect(answer.hasPrefix("HTTP/1.1 408 ") && answer.contains("connection: close\r\n"))
            await client.close()
        }
    }

    @Test("does not grant more time for each byte of a head that trickles in")
    func slowloris() async throws {
        try await withServer(limits: limits { $0.headerDeadline = .milliseconds(200) }) { server in
            let client = try await RawClient(port: server.port)
            await client.send("GET / HTTP/1.1\r\nHost: a\r\n")
            let dripping = Task {
                while !Task.isCancelled {
                    await client.send("X: y\r\n")
                    try await Task.sleep(for: .milliseconds(20))
                }
            }
            #expect(await client.receive(through: "\r\n\r\n").hasPrefix("HTTP/1.1 408 "))
            dripping.cancel()
            await client.close()
        }
    }

    @Test("answers 408 when a body stays away")
    func slowBody() async throws {
        try await withServer(limits: limits { $0.bodyDeadline = short }) { server in
            let client = try await RawClient(port: server.port)
            await client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc")
            #expect(await client.receive(through: "\r\n\r\n").hasPrefix("HTTP/1.1 408 "))
            await client.close()
        }
    }

    @Test("closes a connection that asks for nothing, before and after a request", arguments: [false, true])
    func idle(afterRequest: Bool) async throws {
        let limits = limits {
            $0.idleDeadline = short
            if !afterRequest { $0.handshakeDeadline = short }
        }
        try await withServer(limits: limits) { server in
            let client = try await RawClient(port: server.port)
            if afterRequest { await client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n") }
            #expect(await client.receiveAll().contains("200 OK") == afterRequest)
        }
    }

    @Test("lets a client go that does not read its answer", arguments: ["HTTP/1.1", "HTTP/2"])
    func slowReader(version: String) async throws {
        let limits = limits {
            $0.writeDeadline = short
            $0.maxConnections = 1
        }
        try await withServer(limits: limits) { server in
            let client = try await RawClient(port: server.port, reads: false)
            if version == "HTTP/2" {
                await client.send(Frames.preface + Frames.settings() + Frames.headers(stream: 1, path: "/large"))
            } else {
                await client.send("GET /large HTTP/1.1\r\nHost: a\r\n\r\n")
            }
            // Only when the first is gone there is a place for the second.
            let second = try await RawClient(port: server.port)
            await second.send("GET /second HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(await second.receive(through: "GET /second").contains("200 OK"))
            await client.close()
            await second.close()
        }
    }

    @Test("closes an HTTP/2 connection whose first SETTINGS stay away")
    func noSettings() async throws {
        try await withServer(limits: limits { $0.handshakeDeadline = short }) { server in
            let client = try await RawClient(port: server.port)
            await client.send(Frames.preface)
            _ = await client.receiveAll()
        }
    }

    @Test("says GOAWAY to an HTTP/2 connection that asks for nothing")
    func idleHTTP2() async throws {
        try await withServer(limits: limits { $0.idleDeadline = short }) { server in
            let client = try await RawClient(port: server.port)
            await client.send(Frames.preface + Frames.settings() + Frames.settingsAcknowledged)
            let frames = await client.frames { $0.contains { $0.hasPrefix("GOAWAY") } }
            #expect(frames.last == "GOAWAY last 0 code 0 ")
            await client.close()
        }
    }

    @Test("answers 408 to an HTTP/2 request whose body stays away")
    func slowBodyHTTP2() async throws {
        try await withServer(limits: limits { $0.bodyDeadline = short }) { server in
            let client = try await RawClient(port: server.port)
            await client.send(Frames.preface + Frames.settings() + Frames.headers(stream: 1, endsStream: false))
            let frames = await client.frames { $0.contains { $0.hasPrefix("DATA 1") } }
            #expect(frames.contains("HEADERS 1"))
            await client.close()
        }
    }

    @Test("holds further connections back at the limit, until one ends")
    func maxConnections() async throws {
        try await withServer(limits: limits { $0.maxConnections = 1 }) { server in
            let first = try await RawClient(port: server.port)
            await first.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            _ = await first.receive(through: "GET /")
            let second = try await RawClient(port: server.port)
            await second.send("GET /second HTTP/1.1\r\nHost: a\r\n\r\n")
            await first.send("GET /again HTTP/1.1\r\nHost: a\r\n\r\n")
            _ = await first.receive(through: "GET /again")
            #expect(await second.receivedBytes == 0)
            await first.close()
            #expect(await second.receive(through: "GET /second").contains("200 OK"))
            await second.close()
        }
    }
}
