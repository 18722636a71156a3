import HTTP2
import HTTPServer
import Testing

@Suite("A server with frames bent at random", .timeLimit(.minutes(4)))
struct HTTP2FuzzTests {
    @Test("goes on serving others, and lets the bent ones go", arguments: 0..<8)
    func mutations(seed: UInt64) async throws {
        var limits = HTTPLimits()
        limits.maxHeaderBytes = 2000
        let streaming: HTTPStreamRouter = { head in
            guard head.target == "/stream" else { return nil }
            return HTTPStreamRoute(maxBodyBytes: 4000) { exchange in
                do throws(HTTPStreamError) {
                    try await exchange.begin(200)
                    while let bytes = try await exchange.read() { try await exchange.write(bytes) }
                } catch {}
            }
        }
        try await withServer(limits: limits, streaming: streaming) { server in
            var generator = SeededGenerator(state: seed &* 0x9E37_79B9 &+ 1)
            for _ in 0..<20 {
                let client = try await RawClient(port: server.port)
                var frames = script(using: &generator)
                for _ in 0..<Int.random(in: 1...6, using: &generator) { bend(&frames, using: &generator) }
                await client.send(Frames.preface + frames)
                await client.closeAfterSending()
            }
            let client = try await RawClient(port: server.port)
            await client.send("GET /still HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(await client.receive(through: "GET /still").contains("200 OK"))
            await client.close()
        }
    }

    private func script(using generator: inout SeededGenerator) -> [UInt8] {
        var bytes = Frames.settings() + Frames.settingsAcknowledged
        var stream: UInt32 = 1
        for _ in 0..<Int.random(in: 1...12, using: &generator) {
            let body = [UInt8](repeating: 0x78, count: Int.random(in: 0...3000, using: &generator))
            switch Int.random(in: 0..<6, using: &generator) {
            case 0: bytes += Frames.headers(stream: stream)
            case 1: bytes += Frames.headers(stream: stream, endsStream: false) + Frames.data(stream: stream, body)
            case 2:
                bytes += Frames.headers(stream: stream, path: "/stream", endsStream: false)
                bytes += Frames.data(stream: stream, body, endsStream: false) + Frames.data(stream: stream, body)
            case 3: bytes += Frames.headers(stream: stream, endsStream: false) + Frames.reset(stream: stream)
            case 4: bytes += Frames.ping()
            default:
                let fields = (0..<10).map { ("x-\($0)", String(repeating: "v", count: 100)) }
                bytes += Frames.headers(stream: stream, fields: fields)
            }
            stream += 2
        }
        return bytes
    }
}
