import EventLoop
import HTTP2
import HTTPServer
import TestSupport
import Testing

@Suite("A server that drains", .timeLimit(.minutes(4)))
struct DrainTests {
    private func start(_ handler: TestHandler) async throws -> HTTPServer {
        let configuration = HTTPServerConfiguration(address: .loopback(port: 0))
        return try await HTTPServer.start(configuration, loops: TestLoops.servers) { await handler.answer($0) }
    }

    @Test("lets idle connections go, answers what was asked with connection: close, and takes no more")
    func http1() async throws {
        let handler = TestHandler()
        let server = try await start(handler)
        let idle = try await RawClient(port: server.port)
        await idle.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        _ = await idle.receive(through: "GET /")
        let busy = try await RawClient(port: server.port)
        await busy.send("GET /wait HTTP/1.1\r\nHost: a\r\n\r\n")
        await handler.until(waiting: 1)

        let draining = Task { await server.drain(by: .patient) }
        _ = await idle.receiveAll()
        await #expect(throws: RawClient.NoConnection.self) { try await RawClient(port: server.port) }
        handler.release()
        let answer = await busy.receiveAll()
        #expect(answer.contains("connection: close\r\n") && answer.hasSuffix("waited"))
        await draining.value
        #expect(server.openConnections == 0)
        #expect(handler.cancelled == 0)
    }

    @Test("says GOAWAY in two steps to HTTP/2: what is on its way between them is answered")
    func http2() async throws {
        let handler = TestHandler()
        let server = try await start(handler)
        let client = try await RawClient(port: server.port)
        await client.send(Frames.preface + Frames.settings() + Frames.headers(stream: 1, path: "/wait"))
        await handler.until(waiting: 1)
        let draining = Task { await server.drain(by: .patient) }
        _ = await client.frames { $0.contains("PING") }
        await client.send(Frames.headers(stream: 3) + Frames.ping(acknowledges: true))
        _ = await client.frames { $0.contains("GOAWAY last 3 code 0 ") }
        handler.release()
        let frames = await client.frames { $0.count { $0.hasSuffix("end") } == 2 }
        #expect(frames.contains("GOAWAY last 2147483647 code 0 "))
        await client.close()
        await draining.value
    }

    @Test("cancels and closes what is left at the deadline")
    func deadline() async throws {
        let handler = TestHandler()
        let server = try await start(handler)
        let first = try await RawClient(port: server.port)
        await first.send("GET /wait HTTP/1.1\r\nHost: a\r\n\r\n")
        let second = try await RawClient(port: server.port)
        await second.send(Frames.preface + Frames.settings() + Frames.headers(stream: 1, path: "/wait"))
        await handler.until(waiting: 2)
        await server.drain(by: .now + .milliseconds(50))
        #expect(handler.cancelled == 2)
        #expect(server.openConnections == 0)
        #expect(await first.receiveAll().isEmpty)
        await second.close()
    }

    @Test("frees its port")
    func port() async throws {
        let server = try await start(TestHandler())
        await server.drain(by: .now)
        let again = HTTPServerConfiguration(address: .loopback(port: server.port))
        let second = try await HTTPServer.start(again, loops: TestLoops.servers) { _ in HTTPResponse(status: 200) }
        await second.drain(by: .now)
    }

    @Test("cannot be started where another listens")
    func taken() async throws {
        try await withServer { server in
            let configuration = HTTPServerConfiguration(address: .loopback(port: server.port))
            await #expect(throws: HTTPServerError.self) {
                try await HTTPServer.start(configuration, loops: TestLoops.servers) { _ in HTTPResponse(status: 200) }
            }
        }
    }
}
