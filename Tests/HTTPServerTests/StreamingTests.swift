import Foundation
import HTTP2
import HTTPServer
import Testing

@Suite("A server with bodies in pieces", .timeLimit(.minutes(4)))
struct StreamingTests {
    /// Sends back what it reads, piece by piece.
    private static let echo: HTTPStreamHandler = { exchange in
        do throws(HTTPStreamError) {
            var hasBegun = false
            while let bytes = try await exchange.read() {
                if !hasBegun { try await exchange.begin(200, ["content-type": "text/plain"]) }
                hasBegun = true
                try await exchange.write(bytes)
            }
            if !hasBegun { await exchange.respond(HTTPResponse(status: 204)) }
        } catch {}
    }

    private static func route(
        limit: Int = 64 << 20,
        _ handler: @escaping HTTPStreamHandler = Self.echo
    ) -> HTTPStreamRouter {
        { $0.target == "/stream" ? HTTPStreamRoute(maxBodyBytes: limit, handler: handler) : nil }
    }

    @Test(
        "echoes 5 MB to curl, more than its limit for whole bodies",
        arguments: ["--http1.1", "--http2-prior-knowledge"],
        ["Expect: 100-continue", "Transfer-Encoding: chunked", "Expect:"]
    )
    func echoes(version: String, header: String) async throws {
        if version != "--http1.1", header.hasPrefix("Transfer") { return }
        var limits = HTTPLimits()
        limits.maxBodyBytes = 1000
        let file = FileManager.default.temporaryDirectory.appending(path: "touchline-\(UUID().uuidString)")
        let bytes = Data((0..<5_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) })
        try bytes.write(to: file)
        let copy = file.appendingPathExtension("copy")
        defer { for file in [file, copy] { try? FileManager.default.removeItem(at: file) } }
        try await withServer(limits: limits, streaming: Self.route()) { server in
            let curl = try await Curl.run([
                version, "--header", header, "--data-binary", "@\(file.path)", "--output", copy.path,
                "http://127.0.0.1:\(server.port)/stream",
            ])
            #expect(curl.output.isEmpty)
        }
        #expect(try Data(contentsOf: copy) == bytes)
    }

    @Test(
        "answers before the body is read, and the client gets to read it",
        arguments: ["--http1.1", "--http2-prior-knowledge"]
    )
    func early(version: String) async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "touchline-\(UUID().uuidString)")
        try Data(count: 3_000_000).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let router = Self.route { await $0.respond(HTTPResponse(status: 401, body: Array("no key\n".utf8))) }
        try await withServer(streaming: router) { server in
            let curl = try await Curl.run([
                version, "--header", "Expect:", "--data-binary", "@\(file.path)", "--write-out", "%{http_code}",
                "http://127.0.0.1:\(server.port)/stream",
            ])
            #expect(curl.output == "no key\n401")
        }
    }

    @Test("goes on with the next request of the connection, an empty body and HEAD included")
    func keepAlive() async throws {
        try await withServer(streaming: Self.route()) { server in
            let client = try await RawClient(port: server.port)
            await client.send("POST /stream HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello")
            await client.send("POST /stream HTTP/1.1\r\nHost: a\r\n\r\n")
            await client.send("HEAD /stream HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nxx")
            await client.send("GET /next HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            let text = await client.receiveAll()
            let statuses = text.split(whereSeparator: \.isNewline).filter { $0.hasPrefix("HTTP/1.1") }
            #expect(statuses == ["HTTP/1.1 200 OK", "HTTP/1.1 204 No Content", "HTTP/1.1 200 OK", "HTTP/1.1 200 OK"])
            #expect(text.contains("transfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"))
            #expect(text.contains("GET /next") && !text.contains("xx"))
        }
    }

    @Test("does not chunk for a client of HTTP/1.0: the end of the connection is the end")
    func version10() async throws {
        try await withServer(streaming: Self.route()) { server in
            let client = try await RawClient(port: server.port)
            await client.send("POST /stream HTTP/1.0\r\nContent-Length: 5\r\n\r\nhello")
            let text = await client.receiveAll()
            #expect(text.hasSuffix("\r\n\r\nhello") && !text.contains("chunked"))
        }
    }

    @Test("answers 413 to a body over the route's limit", arguments: ["HTTP/1.1", "chunked", "HTTP/2"])
    func tooLarge(way: String) async throws {
        let router = Self.route(limit: 8) { exchange in
            do throws(HTTPStreamError) {
                while try await exchange.read() != nil {}
                await exchange.respond(HTTPResponse(status: 200))
            } catch {
                guard case .refused(let refusal) = error else {
                    Issue.record("\(error)")
                    return
                }
                #expect(refusal.status == 413 && refusal.limit == 8 && (refusal.size ?? 0) > 8)
            }
        }
        try await withServer(streaming: router) { server in
            let client = try await RawClient(port: server.port)
            switch way {
            case "chunked":
                await client.send("POST /stream HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
                await client.send("5\r\nhello\r\n5\r\nworld\r\n")
            case "HTTP/2":
                await client.send(Frames.preface + Frames.settings())
                await client.send(Frames.headers(stream: 1, path: "/stream", endsStream: false))
                await client.send(Frames.data(stream: 1, Array("helloworld".utf8), endsStream: false))
            default: await client.send("POST /stream HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhelloworld")
            }
            #expect(await client.receive(through: "body_too_large").contains("body_too_large"))
            await client.close()
        }
    }

    @Test("gives an HTTP/2 client credit only for what was read")
    func backPressure() async throws {
        let gate = AsyncStream.makeStream(of: Void.self)
        let began = AsyncStream.makeStream(of: Void.self)
        let router = Self.route { exchange in
            began.continuation.yield()
            for await _ in gate.stream { break }
            while let _ = try? await exchange.read() {}
            await exchange.respond(HTTPResponse(status: 200))
        }
        try await withServer(streaming: router) { server in
            let client = try await RawClient(port: server.port)
            await client.send(Frames.preface + Frames.settings() + Frames.settingsAcknowledged)
            await client.send(Frames.headers(stream: 1, path: "/stream", endsStream: false))
            for await _ in began.stream { break }
            let piece = [UInt8](repeating: 0x78, count: 16_000)
            for _ in 0..<4 { await client.send(Frames.data(stream: 1, piece, endsStream: false)) }
            await client.send(Frames.headers(stream: 3))
            let before = await client.frames { $0.contains { $0.hasPrefix("DATA 3") } }
            #expect(!before.contains("WINDOW_UPDATE 1"))
            gate.continuation.yield()
            for _ in 0..<8 { await client.send(Frames.data(stream: 1, piece, endsStream: false)) }
            _ = await client.frames { $0.contains("WINDOW_UPDATE 1") }
            await client.send(Frames.data(stream: 1, []))
            _ = await client.frames { $0.contains("HEADERS 1 end") }
            await client.close()
        }
    }

    @Test("does not wait for ever for a client that sends everything before it reads anything")
    func sendsAllFirst() async throws {
        try await withServer(streaming: Self.route()) { server in
            let client = try await RawClient(port: server.port, reads: false)
            let bytes = [UInt8](repeating: 0x78, count: 6 << 20)
            await client.send("POST /stream HTTP/1.1\r\nHost: a\r\nConnection: close\r\n")
            await client.send("Content-Length: \(bytes.count)\r\n\r\n")
            await client.send(bytes)
            await client.untilAllIsSent()
            await client.resumeReading()
            #expect(await client.receiveAll().hasSuffix("\r\n0\r\n\r\n"))
            #expect(await client.receivedBytes > bytes.count)
        }
    }

    @Test("tells a handler that its client has gone, and one whose client is late", arguments: ["HTTP/1.1", "HTTP/2"])
    func failures(version: String) async throws {
        let seen = AsyncStream.makeStream(of: HTTPStreamError?.self)
        let router = Self.route { exchange in
            seen.continuation.yield(nil)
            do throws(HTTPStreamError) {
                while try await exchange.read() != nil {}
            } catch { seen.continuation.yield(error) }
        }
        for isLate in [false, true] {
            var limits = HTTPLimits()
            if isLate { limits.bodyDeadline = .milliseconds(60) }
            try await withServer(limits: limits, streaming: router) { server in
                let client = try await RawClient(port: server.port)
                if version == "HTTP/2" {
                    await client.send(Frames.preface + Frames.settings())
                    await client.send(Frames.headers(stream: 1, path: "/stream", endsStream: false))
                } else {
                    await client.send("POST /stream HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n")
                    await client.send("Content-Length: 9\r\n\r\n")
                }
                var events = seen.stream.makeAsyncIterator()
                _ = await events.next()
                if isLate { _ = await client.receive(through: "request_timeout") }
                await client.close()
                let error = try #require(await events.next())
                #expect((error == .clientGone) == !isLate)
            }
        }
    }

    @Test("answers 500 for a handler that answers nothing")
    func nothing() async throws {
        try await withServer(streaming: Self.route { _ in }) { server in
            let client = try await RawClient(port: server.port)
            await client.send("GET /stream HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(await client.receive(through: "\r\n\r\n").hasPrefix("HTTP/1.1 500 "))
            await client.close()
        }
    }
}
