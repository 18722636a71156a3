import HTTP2
import HTTPServer
import Testing

@Suite("A connection whose request was refused", .timeLimit(.minutes(2)))
struct RefusedConnectionTests {
    /// The server's patience with what still comes is five seconds over HTTP/1.1, and one over HTTP/2.
    private func ended(_ bytes: [UInt8], of server: HTTPServer) async throws -> (text: String, time: Duration) {
        let client = try await RawClient(port: server.port)
        let begin = ContinuousClock.now
        await client.send(bytes)
        let text = await client.receiveAll()
        return (text, .now - begin)
    }

    @Test(
        "ends at once, behind its answer",
        arguments: [
            ("GET  / HTTP/1.1\r\n", 400), ("GET / HTTP/2.0\r\n", 505), ("CONNECT a:443 HTTP/1.1\r\n", 501),
            ("GET / HTTP/1.1\r\nHost: a\r\nExpect: 200-ok\r\n\r\n", 417),
            ("GET /\(String(repeating: "a", count: 9_000))", 414),
            ("GET / HTTP/1.1\r\nX: \(String(repeating: "a", count: 33_000))", 431),
            ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999\r\n\r\n", 413),
            ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFF\r\n", 413),
        ]
    )
    func http1(request: String, status: Int) async throws {
        try await withServer { server in
            let (text, time) = try await ended(Array(request.utf8), of: server)
            #expect(text.hasPrefix("HTTP/1.1 \(status) ") && text.contains("connection: close\r\n"))
            #expect(text.contains(#""status":\#(status),"#))
            #expect(time < .seconds(4))
            if status == 413 { #expect(text.contains(#""size":"#) && text.contains(#""limit":16777216}"#)) }
        }
    }

    @Test("ends at once behind GOAWAY, over HTTP/2")
    func http2() async throws {
        try await withServer { server in
            // The preface, SETTINGS, then a frame of a kind that must not come on stream 0.
            let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + [0, 0, 0, 4, 0, 0, 0, 0, 0]
            let (text, time) = try await ended(preface + [0, 0, 1, 0, 0, 0, 0, 0, 0, 0x78], of: server)
            #expect(!text.isEmpty)
            #expect(time < .milliseconds(900))
        }
    }
}
