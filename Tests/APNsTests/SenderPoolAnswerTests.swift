import APNs
import APNsProtocol
import EventLoop
import TestSupport
import Testing

private typealias Server = ScriptedHTTP2Server

@Suite("A sender pool whose answers no APNs gives", .timeLimit(.minutes(2)))
struct SenderPoolAnswerTests {
    /// What the pool has said.
    private final class Said: Sendable {
        private let sentences = ThreadLock<[String]>([])

        func add(_ sentence: String) { sentences.withLock { $0.append(sentence) } }
        var all: [String] { sentences.withLock { $0 } }
    }

    @Test("takes a status that is not APNs' for a 5xx, and says it once", arguments: [999, 204, 201, 302, 401])
    func foreignStatus(status: Int) async throws {
        let said = Said()
        try await withScriptedPool {
            $0.connectionsPerLane = 1
            $0.report = { said.add($0) }
        } _: { server, pool in
            async let sending = pool.send(try Pushes.batch(0..<3))
            await server.openStreams(2)
            await server.respond(3, status: status, fields: [("location", "https://portal.example/")])
            await server.respond(5, status: status, body: status == 204 ? "" : "<html>")
            let reason = APNsReason(rawValue: "status \(status), which is not APNs'")
            let outcomes = try await sending
            #expect(outcomes.count { $0 == .later(after: nil, reason: reason) } == 2)
            #expect(pool.counts.refused == ["not_apns": 2])
            #expect(pool.counts.connectionsOpened == 1)
            let port = server.port
            #expect(
                said.all == [
                    "127.0.0.1:\(port) answered with status \(status), which APNs never does: something else answers there, "
                        + "such as a proxy or a portal"
                ]
            )
        }
    }

    @Test(
        "does not believe a 200 that contradicts itself",
        arguments: [
            [0x88, 0x8E], [0x88] + Server.literal("content-length", "7"),
            [0x88] + Server.literal("connection", "close"), [0x88] + Server.literal(":path", "/"),
        ] as [[UInt8]]
    )
    func contradiction(block: [UInt8]) async throws {
        let said = Said()
        try await withScriptedPool {
            $0.connectionsPerLane = 1
            $0.report = { said.add($0) }
        } _: { server, pool in
            async let sending = pool.send(try Pushes.batch(0..<4))
            await server.openStreams(3)
            for stream: Int32 in [3, 5] { await server.send(Server.frame(type: 1, flags: 5, stream: stream, block)) }
            await server.respond(7)
            let outcomes = try await sending
            #expect(outcomes.count { $0 == .accepted(uniqueID: nil) } == 2)
            #expect(pool.counts.unknownBy == [.malformed: 2])
            // The others go on.
            #expect(pool.counts.connectionsClosed == [:])
            #expect(said.all.count == 1 && said.all.first?.contains("HEADERS on stream 3: the ") == true, "\(said.all)")
        }
    }

    @Test("does not believe a 200 whose block cannot be decoded, and names frame and rule", arguments: [false, true])
    func undecodable(isContinued: Bool) async throws {
        let said = Said()
        try await withScriptedPool {
            $0.connectionsPerLane = 1
            $0.report = { said.add($0) }
        } _: { server, pool in
            async let sending = pool.send(try Pushes.batch(0..<3))
            await server.openStreams(2)
            let garbage: [UInt8] = [0xFF, 0xFF, 0xFF, 0xFF, 0x0F]
            if isContinued {
                await server.send(Server.frame(type: 1, flags: 1, stream: 3, [0x88]))
                await server.send(Server.frame(type: 9, flags: 4, stream: 3, garbage))
            } else {
                await server.send(Server.frame(type: 1, flags: 5, stream: 3, [0x88] + garbage))
            }
            let outcomes = try await sending
            #expect(outcomes.count { $0 == .accepted(uniqueID: nil) } == 1)
            #expect(pool.counts.unknownBy == [.connectionLost: 2])
            #expect(pool.counts.connectionsClosed == [.protocolError: 1])
            let frame = isContinued ? "CONTINUATION" : "HEADERS"
            let rule =
                "the peer broke the protocol: \(frame) on stream 3: the header block cannot be decoded (RFC 9113, 4.3)"
            #expect(said.all.contains { $0.hasSuffix(rule) }, "\(said.all)")
        }
    }
}
