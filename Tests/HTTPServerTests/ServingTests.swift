import HTTP2
import HTTPServer
import Testing

@Suite("A server and its clients' odd ways", .timeLimit(.minutes(4)))
struct ServingTests {
    @Test("answers pipelined requests in order, in however small pieces they come")
    func pipelining() async throws {
        try await withServer { server in
            let client = try await RawClient(port: server.port)
            let requests =
                "GET /1 HTTP/1.1\r\nHost: a\r\n\r\nPOST /2 HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nok"
            for byte in requests.utf8 { await client.send([byte]) }
            await client.send("GET /3 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            let lines = await client.receiveAll().split(whereSeparator: \.isNewline).filter { $0.contains(" /") }
            #expect(lines == ["GET /1 0 -", "POST /2 2 -", "GET /3 0 -"])
        }
    }

    @Test("closes after a bad request, and answers nothing that stands behind it")
    func smuggling() async throws {
        try await withServer { server in
            let client = try await RawClient(port: server.port)
            let bad = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
            await client.send(bad + "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n")
            let answer = await client.receive(through: #""code":"bad_request""#)
            #expect(answer.hasPrefix("HTTP/1.1 400 Bad Request\r\n") && !answer.contains("smuggled"))
            await client.close()
        }
    }

    @Test("answers a client of HTTP/1.0, and closes at once")
    func version10() async throws {
        try await withServer { server in
            let client = try await RawClient(port: server.port)
            await client.send("GET / HTTP/1.0\r\n\r\n")
            let answer = await client.receiveAll()
            #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\n") && answer.hasSuffix("GET / 0 -\n"))
        }
    }

    @Test(
        "answers a client that has shut down its side, then closes",
        arguments: [
            ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", ["200"]),
            ("GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", ["200", "200"]),
            ("GET / HTTP/1.1\r\n\r\n", ["400"]), ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nx", []),
        ]
    )
    func halfClosed(request: String, statuses: [String]) async throws {
        try await withServer { server in
            let client = try await RawClient(port: server.port)
            await client.sendLast(request)
            let answer = await client.receiveAll()
            #expect(answer.split(separator: "HTTP/1.1 ").map { String($0.prefix(3)) } == statuses)
            await client.close()
        }
    }

    @Test("cancels the handler of a client that has gone", arguments: ["HTTP/1.1", "HTTP/2", "HTTP/2 stream"])
    func cancellation(way: String) async throws {
        let handler = TestHandler()
        try await withServer(handler: handler) { server in
            let client = try await RawClient(port: server.port)
            if way == "HTTP/1.1" {
                await client.send("GET /wait HTTP/1.1\r\nHost: a\r\n\r\n")
            } else {
                await client.send(Frames.preface + Frames.settings() + Frames.headers(stream: 1, path: "/wait"))
            }
            await handler.until(waiting: 1)
            if way == "HTTP/2 stream" { await client.send(Frames.reset(stream: 1)) } else { await client.close() }
            await handler.until(cancelled: 1)
            await client.close()
        }
    }

    @Test("answers HTTP/2 requests as they are ready, not in the order in which they came")
    func multiplexing() async throws {
        let handler = TestHandler()
        try await withServer(handler: handler) { server in
            let client = try await RawClient(port: server.port)
            await client.send(
                Frames.preface + Frames.settings() + Frames.headers(stream: 1, path: "/wait")
                    + Frames.headers(stream: 3, endsStream: false) + Frames.data(stream: 3, [1, 2, 3])
            )
            _ = await client.frames { $0.contains { $0.hasSuffix("end") } }
            handler.release()
            let frames = await client.frames { $0.count { $0.hasSuffix("end") } == 2 }
            #expect(frames.filter { $0.hasPrefix("DATA") }.map { $0.prefix(6) } == ["DATA 3", "DATA 1"])
            await client.close()
        }
    }

    @Test("refuses a header list over the limit with 431, on its stream alone")
    func headerList() async throws {
        var limits = HTTPLimits()
        limits.maxHeaderBytes = 600
        try await withServer(limits: limits) { server in
            let client = try await RawClient(port: server.port)
            let many = (0..<20).map { ("x-\($0)", "y") }
            await client.send(
                Frames.preface + Frames.settings() + Frames.headers(stream: 1, fields: many) + Frames.headers(stream: 3)
            )
            let text = await client.receive(through: "GET / 0")
            #expect(text.contains("the header section is too large"))
            await client.close()
        }
    }
}
