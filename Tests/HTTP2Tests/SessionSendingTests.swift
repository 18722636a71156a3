import TestSupport
import Testing

@testable import HTTP2

private typealias Server = ScriptedHTTP2Server

@Suite("What a client session sends")
struct SessionSendingTests {
    private func body(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7) } }

    @Test("waits for windows, and goes on where they open")
    func waitsForWindows() throws {
        let peer = try SessionPeer(settings: [(4, 100)])
        let whole = body(250)
        #expect(try peer.submit(body: whole) == 1)
        var sent = peer.frames().filter { $0.type == 0 }
        #expect(sent.map(\.payload.count) == [100])
        #expect(peer.roomForBodies == 65_535 - 100 - 150)
        // Smaller by SETTINGS, it is negative now, and must first become positive (RFC 9113, 6.9.2).
        peer.receive(Server.settings([(4, 40)]) + Server.windowUpdate(60, stream: 1))
        peer.sendBodies()
        #expect(peer.frames().filter { $0.type == 0 }.isEmpty)
        peer.receive(Server.windowUpdate(10, stream: 1) + Server.settings([(4, 60)]))
        peer.sendBodies()
        sent += peer.frames().filter { $0.type == 0 }
        #expect(sent.map(\.payload.count) == [100, 30])
        peer.receive(Server.windowUpdate(1000, stream: 1))
        peer.sendBodies()
        sent += peer.frames().filter { $0.type == 0 }
        #expect(sent.flatMap(\.payload) == whole)
        #expect(sent.map(\.flags) == [0, 0, 1])
    }

    @Test("shares the connection's window, and forgets what a reset stream still had to send")
    func sharesTheConnection() throws {
        let peer = try SessionPeer(settings: [(4, 1 << 20)])
        #expect(try [peer.submit(body: body(60_000)), peer.submit(body: body(60_000))] == [1, 3])
        #expect(try peer.submit() == 5)
        var sent: [Int32: Int] = [:]
        for frame in peer.frames() where frame.type == 0 { sent[frame.stream, default: 0] += frame.payload.count }
        #expect(sent.values.reduce(0, +) == 65_535)
        #expect(peer.roomForBodies == 65_535 - 120_000)
        peer.reset(1)
        #expect(peer.roomForBodies == -(60_000 - (sent[3] ?? 0)))
        peer.receive(Server.windowUpdate(1 << 20))
        peer.sendBodies()
        for frame in peer.frames() where frame.type == 0 {
            #expect(frame.stream == 3)
            sent[frame.stream, default: 0] += frame.payload.count
        }
        #expect(sent[3] == 60_000)
    }

    @Test("is read to its end by a peer that answers before it has heard all")
    func earlyAnswer() throws {
        let peer = try SessionPeer(settings: [(4, 100)])
        _ = try peer.submit(body: body(150))
        _ = try peer.submit(body: body(150))
        peer.receive(Server.frame(type: 1, flags: 5, stream: 1, [0x88]))
        peer.receive(Server.frame(type: 1, flags: 5, stream: 3, [0x88]))
        #expect(peer.actions().isEmpty)
        peer.receive(Server.windowUpdate(100, stream: 1))
        peer.sendBodies()
        #expect(peer.actions() == [.closedStream(slot: 0, errorCode: 0)])
        // This one wants no more of it (RFC 9113, 8.1).
        peer.receive(Server.reset(3, code: 0))
        #expect(peer.actions() == [.closedStream(slot: 1, errorCode: 0)])
        #expect(peer.roomForBodies == 65_535 - 150 - 100)
    }

    @Test("goes out in several frames where it is larger than one", arguments: [16_384, 20_000])
    func continuations(frameLimit: Int) throws {
        let peer = try SessionPeer(settings: [(5, UInt32(frameLimit))])
        let long = String(repeating: "~", count: 60_000)
        let template = HTTP2RequestTemplate(constant: [(":method", "POST"), ("x-long", long)], varying: [":path"])
        let decoder = HeaderDecoder()
        for hasBody in [true, false, true] {
            _ = try peer.submit(template, path: "/long", body: hasBody ? [1] : [])
            let frames = peer.frames()
            let blocks = frames.filter { $0.type != 0 }
            #expect(blocks.count == (60_000 + frameLimit) / frameLimit)
            #expect(blocks.allSatisfy { $0.payload.count <= frameLimit && $0.stream == frames[0].stream })
            #expect(blocks.map(\.type) == [1] + Array(repeating: 9, count: blocks.count - 1))
            #expect(blocks[0].flags == (hasBody ? 0 : 1) && blocks.last?.flags == 4)
            #expect(
                decoder.decode(blocks.flatMap(\.payload))?.map(\.value) == ["/long", "POST", long]
            )
        }
    }

    @Test("keeps to the peer's frame size, and to a changed one")
    func frameSizes() throws {
        let peer = try SessionPeer(settings: [(4, 1 << 20)])
        peer.receive(Server.windowUpdate(1 << 20))
        _ = try peer.submit(body: body(40_000))
        #expect(peer.frames().filter { $0.type == 0 }.map(\.payload.count) == [16_384, 16_384, 7_232])
        peer.receive(Server.settings([(5, 30_000)]))
        _ = try peer.submit(body: body(40_000))
        #expect(peer.frames().filter { $0.type == 0 }.map(\.payload.count) == [30_000, 10_000])
    }

    @Test("follows the peer's table through SETTINGS between requests", arguments: 0..<20)
    func tableChanges(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let peer = try SessionPeer()
        let decoder = HeaderDecoder()
        let templates = (0..<5).map {
            HTTP2RequestTemplate(
                constant: [(":method", "POST"), ("authorization", String(repeating: "j\($0)", count: 100))],
                varying: [":path", "apns-id"]
            )
        }
        var values = HTTP2FieldValues(capacity: 100)
        for slot in 0..<300 {
            if random.next() % 5 == 0 {
                let sizes = [[0], [4096], [0, 4096], [300], [65_536], [60, 4096, 200]].randomElement(using: &random)
                for bytes in sizes ?? [] {
                    peer.receive(Server.settings([(1, UInt32(bytes))]))
                    decoder.changeTable(bytes: bytes)
                }
            }
            values.removeAll()
            for value in ["/\(slot)", "id-\(slot)"] {
                values.write(value)
                values.finishValue()
            }
            let template = templates[Int(random.next() % 5)]
            _ = try peer.submit(template, values, slot: slot)
            let block = peer.frames().first { $0.type == 1 }
            #expect(
                decoder.decode(block?.payload ?? [])?.map(\.value)
                    == [
                        "/\(slot)", "POST", String(decoding: template.constants[1].field.value, as: UTF8.self),
                        "id-\(slot)",
                    ]
            )
        }
    }
}

extension SessionPeer {
    func submit(
        _ template: HTTP2RequestTemplate,
        _ values: borrowing HTTP2FieldValues,
        slot: Int
    ) throws -> Int32 {
        try session.submit(template, values, body: nil, slot: slot)
    }
}
