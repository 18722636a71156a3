import TestSupport
import Testing

@testable import HTTP2

private typealias Server = ScriptedHTTP2Server

@Suite("A client session")
struct HTTP2SessionTests {
    /// `:status: 200`, with what else a block holds.
    private func headers(_ stream: Int32, _ block: [UInt8] = [0x88], ends: Bool = true, flags: UInt8 = 4) -> [UInt8] {
        Server.frame(type: 1, flags: flags | (ends ? 1 : 0), stream: stream, block)
    }

    /// A literal without indexing.
    private static func field(_ name: String, _ value: String) -> [UInt8] {
        [0, UInt8(name.utf8.count)] + Array(name.utf8) + [UInt8(value.utf8.count)] + Array(value.utf8)
    }

    @Test("reads the same however the bytes are cut", arguments: [1, 2, 3, 7, 9, 10, 50])
    func anyCut(bytes: Int) throws {
        let peer = try SessionPeer(settings: nil)
        let stream = try peer.submit()
        let other = try peer.submit()
        let input =
            Server.settings([(3, 7), (4, 1000)]) + headers(stream, ends: false)
            + Server.frame(type: 0, stream: stream, [1, 2, 3]) + Server.frame(type: 6, [1, 2, 3, 4, 5, 6, 7, 8])
            + headers(other, [0x88] + Self.field("apns-id", "x"), ends: false, flags: 0)
            + Server.frame(type: 9, flags: 4, stream: other, Self.field("a", "b"))
            + Server.frame(type: 0, flags: 1 | 8, stream: stream, [2, 4, 5, 0, 0])
            + Server.frame(type: 200, stream: 0, [9]) + Server.frame(type: 0, flags: 1, stream: other, [])
        for start in stride(from: 0, to: input.count, by: bytes) {
            peer.receive(Array(input[start..<min(start + bytes, input.count)]))
        }
        #expect(
            peer.actions() == [
                .settings, .closedStream(slot: 0, errorCode: 0), .closedStream(slot: 1, errorCode: 0),
            ]
        )
        #expect(peer.response(0).body == [1, 2, 3, 4, 5])
        #expect(peer.response(1).fields == ["apns-id": "x", "a": "b"])
        #expect(peer.streamLimit == 7)
        let written = peer.frames().filter { $0.type != 1 }
        #expect(written.map(\.type) == [4, 6] && written.allSatisfy { $0.flags == 1 })
        #expect(written.last?.payload == [1, 2, 3, 4, 5, 6, 7, 8])
    }

    private static let violations: [(what: String, bytes: [UInt8], code: UInt32)] = [
        ("a DATA frame on stream 0", Server.frame(type: 0, [1]), 1),
        ("HEADERS on a stream that nobody opened", Server.frame(type: 1, flags: 5, stream: 99, [0x88]), 1),
        ("HEADERS on an even stream", Server.frame(type: 1, flags: 5, stream: 2, [0x88]), 1),
        ("a frame inside a header block", Server.frame(type: 1, stream: 1, [0x88]) + Server.frame(type: 6, [0]), 1),
        (
            "another stream's CONTINUATION",
            Server.frame(type: 1, stream: 1, [0x88]) + Server.frame(type: 9, stream: 3, [1]), 1
        ),
        ("a CONTINUATION of nothing", Server.frame(type: 9, flags: 4, stream: 1, [0x88]), 1),
        (
            "a block that does not decode", Server.frame(type: 1, flags: 5, stream: 1, [0xFF, 0xFF, 0xFF, 0xFF, 0x0F]),
            9
        ),
        ("a block that breaks off", Server.frame(type: 1, flags: 5, stream: 1, [0x00, 0x05, 0x61]), 9),
        ("a push", Server.frame(type: 5, flags: 4, stream: 1, [0, 0, 0, 2, 0x88]), 1),
        ("a PING of seven bytes", Server.frame(type: 6, [1, 2, 3, 4, 5, 6, 7]), 6),
        ("a PING on a stream", Server.frame(type: 6, stream: 1, [1, 2, 3, 4, 5, 6, 7, 8]), 1),
        ("SETTINGS on a stream", Server.frame(type: 4, stream: 1, []), 1),
        ("SETTINGS of five bytes", Server.frame(type: 4, [0, 1, 0, 0, 0]), 6),
        ("an acknowledgement with payload", Server.frame(type: 4, flags: 1, [0, 1, 0, 0, 0, 0]), 6),
        ("a window beyond 2^31 - 1", Server.settings([(4, 1 << 31)]), 3),
        ("a frame size below the least", Server.settings([(5, 16_383)]), 1),
        ("a frame size above the most", Server.settings([(5, 1 << 24)]), 1),
        ("a server that allows pushes", Server.settings([(2, 1)]), 1),
        ("a connection window by 0", Server.windowUpdate(0), 1),
        ("a connection window too far", Server.windowUpdate(0x7FFF_FFFF), 3),
        ("a window of a stream that nobody opened", Server.windowUpdate(1, stream: 77), 1),
        ("a WINDOW_UPDATE of three bytes", Server.frame(type: 8, [0, 0, 1]), 6),
        ("a RST_STREAM of three bytes", Server.frame(type: 3, stream: 1, [0, 0, 1]), 6),
        ("a RST_STREAM of a stream that nobody opened", Server.reset(77, code: 0), 1),
        ("a GOAWAY of seven bytes", Server.frame(type: 7, [0, 0, 0, 0, 0, 0, 0]), 6),
        ("a GOAWAY on a stream", Server.frame(type: 7, stream: 1, [0, 0, 0, 0, 0, 0, 0, 0]), 1),
        ("a GOAWAY that rises", Server.goAway(lastStream: 1) + Server.goAway(lastStream: 3), 1),
        ("padding longer than the frame", Server.frame(type: 0, flags: 8, stream: 1, [5, 1, 2]), 1),
        ("padding without its length", Server.frame(type: 0, flags: 8, stream: 1, []), 1),
        ("HEADERS too short for their priority", Server.frame(type: 1, flags: 0x24, stream: 1, [0, 0]), 6),
        ("a PRIORITY of four bytes", Server.frame(type: 2, stream: 1, [0, 0, 0, 0]), 6),
        ("a PRIORITY on stream 0", Server.frame(type: 2, [0, 0, 0, 0, 0]), 1),
        ("a frame above our limit", [0, 0x40, 1, 0, 0, 0, 0, 0, 1], 6),
    ]

    @Test("ends at what breaks the connection's rules, and says by which", arguments: violations.indices)
    func connectionErrors(number: Int) throws {
        let (what, bytes, code) = Self.violations[number]
        let peer = try SessionPeer()
        _ = try peer.submit()
        _ = try peer.submit()
        _ = peer.frames()
        peer.receive(bytes)
        let last = peer.frames().last
        #expect(last?.type == 7 && last?.integer(4) == code, "\(what)")
        #expect(peer.isOver)
        // Nothing is read any more.
        _ = peer.actions()
        peer.receive(headers(1))
        #expect(peer.actions().isEmpty && peer.frames().isEmpty)
    }

    /// Seed 197626 of the exchanges beside nghttp2.
    @Test("ends at the header of a frame above our limit, also where that comes in pieces")
    func tooLargeInPieces() throws {
        let peer = try SessionPeer()
        for byte: UInt8 in [0, 0x40, 1, 0, 0, 0, 0, 0] { peer.receive([byte]) }
        #expect(!peer.isOver)
        peer.receive([1])
        #expect(peer.isOver)
    }

    @Test("wants SETTINGS first")
    func settingsFirst() throws {
        for first in [headers(1), Server.frame(type: 6, Array(1...8)), Server.frame(type: 4, flags: 1, [])] {
            let peer = try SessionPeer(settings: nil)
            _ = try peer.submit()
            peer.receive(first)
            #expect(peer.isOver && peer.actions().isEmpty)
        }
    }

    private static let malformed: [(what: String, bytes: [[UInt8]], code: UInt32)] = [
        ("no status", [Server.frame(type: 1, flags: 5, stream: 1, field("a", "b"))], 1),
        ("two of them", [Server.frame(type: 1, flags: 5, stream: 1, [0x88, 0x88])], 1),
        ("a field before it", [Server.frame(type: 1, flags: 5, stream: 1, field("a", "b") + [0x88])], 1),
        ("a status of four digits", [Server.frame(type: 1, flags: 5, stream: 1, field(":status", "2000"))], 1),
        ("a status of letters", [Server.frame(type: 1, flags: 5, stream: 1, field(":status", "2xx"))], 1),
        ("a request's pseudo-field", [Server.frame(type: 1, flags: 5, stream: 1, [0x88] + field(":path", "/"))], 1),
        ("a capital in a name", [Server.frame(type: 1, flags: 5, stream: 1, [0x88] + field("A", "b"))], 1),
        ("a line feed in a value", [Server.frame(type: 1, flags: 5, stream: 1, [0x88] + field("a", "b\nc"))], 1),
        ("a field of HTTP/1.1", [Server.frame(type: 1, flags: 5, stream: 1, [0x88] + field("connection", "close"))], 1),
        ("an interim response that ends it", [Server.frame(type: 1, flags: 5, stream: 1, field(":status", "103"))], 1),
        (
            "trailers that do not end it", [headersFrame, Server.frame(type: 1, flags: 4, stream: 1, field("a", "b"))],
            1
        ),
        ("a status in trailers", [headersFrame, Server.frame(type: 1, flags: 5, stream: 1, [0x88])], 1),
        ("a body before its response", [Server.frame(type: 0, stream: 1, [1])], 1),
        ("less than was promised", [promise("3"), Server.frame(type: 0, flags: 1, stream: 1, [1])], 1),
        ("more than was promised", [promise("3"), Server.frame(type: 0, flags: 1, stream: 1, [1, 2, 3, 4])], 1),
        ("more than was promised, and no end", [promise("3"), Server.frame(type: 0, stream: 1, [1, 2, 3, 4])], 1),
        (
            "a body of a response that has none",
            [Server.frame(type: 1, flags: 4, stream: 1, [0x89]), Server.frame(type: 0, flags: 1, stream: 1, [1])], 1
        ),
        ("a switch of protocols", [Server.frame(type: 1, flags: 4, stream: 1, field(":status", "101"))], 1),
        ("nothing where something was promised", [promise("3"), Server.frame(type: 0, flags: 1, stream: 1, [])], 1),
        ("a length that is none", [promise("x")], 1),
        ("a stream window by 0", [Server.windowUpdate(0, stream: 1)], 1),
        ("a stream window too far", [Server.windowUpdate(0x7FFF_FFFF, stream: 1)], 3),
    ]

    private static let headersFrame = Server.frame(type: 1, flags: 4, stream: 1, [0x88])

    private static func promise(_ length: String) -> [UInt8] {
        Server.frame(type: 1, flags: 4, stream: 1, [0x88] + field("content-length", length))
    }

    @Test("resets a stream whose rules are broken, and the others go on", arguments: malformed.indices)
    func streamErrors(number: Int) throws {
        let (what, frames, code) = Self.malformed[number]
        let peer = try SessionPeer()
        #expect(try [peer.submit(), peer.submit()] == [1, 3])
        _ = peer.frames()
        for bytes in frames { peer.receive(bytes) }
        let reset = peer.frames().last
        #expect(reset?.type == 3 && reset?.stream == 1 && reset?.code == code, "\(what)")
        #expect(peer.actions() == [.closedStream(slot: 0, errorCode: code)], "\(what)")
        // What comes late for it is passed over, and its table is kept.
        peer.receive(headers(1, [0x40] + Self.field("late", "1").dropFirst()) + headers(3, [0x88, 0xBE]))
        #expect(peer.actions() == [.closedStream(slot: 1, errorCode: 0)])
        #expect(peer.response(1).fields == ["late": "1"])
        #expect(!peer.isOver)
    }

    @Test("takes interim responses, trailers, and lengths that come true")
    func wellFormed() throws {
        let peer = try SessionPeer()
        _ = try peer.submit()
        peer.receive(headers(1, Self.field(":status", "103") + Self.field("link", "x"), ends: false))
        peer.receive(headers(1, [0x88] + Self.field("content-length", "2"), ends: false))
        peer.receive(Server.frame(type: 0, stream: 1, [1, 2]) + headers(1, Self.field("grpc-status", "0")))
        #expect(peer.actions() == [.closedStream(slot: 0, errorCode: 0)])
        let response = peer.response(0)
        #expect(response.status == 200 && response.body == [1, 2])
        #expect(response.fields == ["content-length": "2", "grpc-status": "0"])
    }

    @Test("keeps the wanted fields only, and of a body no more than it may")
    func keepsWhatIsWanted() throws {
        let peer = try SessionPeer(wantedFields: ["apns-id"], maxBodyBytes: 4)
        _ = try peer.submit()
        peer.receive(headers(1, [0x88] + Self.field("a", "b") + Self.field("apns-id", "x"), ends: false))
        peer.receive(Server.frame(type: 0, stream: 1, [1, 2, 3]) + Server.frame(type: 0, flags: 1, stream: 1, [4, 5]))
        let response = peer.response(0)
        #expect(response.fields == ["apns-id": "x"])
        #expect(response.body == [1, 2, 3] && response.isCutShort)
    }

    @Test("gives the windows of bodies back, those of closed streams too")
    func givesWindowsBack() throws {
        let peer = try SessionPeer()
        #expect(try [peer.submit(), peer.submit()] == [1, 3])
        peer.receive(headers(1, ends: false))
        peer.reset(3)
        _ = peer.frames()
        let chunk = [UInt8](repeating: 7, count: 16_384)
        var connection = 65_535
        var stream = 1 << 20
        for number in 0..<200 {
            let target: Int32 = number % 2 == 0 ? 1 : 3
            connection -= chunk.count
            if target == 1 { stream -= chunk.count }
            #expect(connection >= 0 && stream >= 0)
            peer.receive(Server.frame(type: 0, stream: target, chunk))
            for frame in peer.frames() {
                #expect(frame.type == 8)
                if frame.stream == 0 { connection += Int(frame.code) } else { stream += Int(frame.code) }
            }
        }
        #expect(connection <= 65_535 && stream <= 1 << 20)
        #expect(!peer.isOver)
    }

    @Test("does not stand a peer that sends beyond a window")
    func refusesTooMuch() throws {
        let peer = try SessionPeer()
        _ = try peer.submit()
        // Each frame takes the most; the answer to the window is not waited for.
        peer.receive(headers(1, ends: false))
        for _ in 0..<3 { peer.receive(Server.frame(type: 0, stream: 1, [UInt8](repeating: 0, count: 16_384))) }
        #expect(!peer.isOver)
        let greedy = try SessionPeer(maxBodyBytes: 0)
        _ = try greedy.submit()
        greedy.receive(headers(1, ends: false))
        // All of it in one go: the window is given back while it is read, so only the stream's own is broken, by its rules.
        for _ in 0..<200 { greedy.receive(Server.frame(type: 0, stream: 1, [UInt8](repeating: 0, count: 16_384))) }
        #expect(!greedy.isOver)
    }

    @Test("numbers streams up to the last, and no further")
    func numbersEnd() throws {
        let peer = try SessionPeer(firstNumber: Int32.max - 2)
        #expect(try peer.submit() == Int32.max - 2)
        #expect(try peer.submit() == Int32.max)
        #expect(throws: HTTP2Error.notProcessed) { try peer.submit() }
        peer.receive(headers(Int32.max) + headers(Int32.max - 2))
        #expect(peer.actions().count == 2 && !peer.isOver)
    }

    @Test("gives back what is above a GOAWAY's last stream, and hears the rest out")
    func goAway() throws {
        let peer = try SessionPeer()
        for _ in 0..<4 { _ = try peer.submit() }
        peer.receive(Server.goAway(lastStream: .max, debug: "soon") + Server.goAway(lastStream: 3, debug: "now"))
        #expect(
            peer.actions() == [
                .goAway, .goAway, .closedStream(slot: 2, errorCode: 7), .closedStream(slot: 3, errorCode: 7),
            ]
        )
        #expect(peer.goAwayText == "now")
        peer.receive(headers(1) + headers(3) + headers(5))
        #expect(peer.actions().count == 2 && !peer.isOver)
    }

    @Test("ends at a flood: header blocks without end, and questions whose answers nobody reads")
    func floods() throws {
        for part in [[], [UInt8](repeating: 0, count: 8192)] {
            let peer = try SessionPeer()
            _ = try peer.submit()
            peer.receive(Server.frame(type: 1, flags: 1, stream: 1, []))
            for _ in 0..<100 where !peer.isOver { peer.receive(Server.frame(type: 9, stream: 1, part)) }
            #expect(peer.isOver)
        }

        let asked = try SessionPeer()
        let pings = (0..<1000).flatMap { _ in Server.frame(type: 6, [1, 2, 3, 4, 5, 6, 7, 8]) }
        for _ in 0..<100 where !asked.isOver { asked.receive(pings) }
        #expect(asked.isOver)
        #expect(asked.outputBytes < 2 << 20)

        // A table's entry named again and again: short on the way, long when it is decoded.
        let bomb = try SessionPeer()
        _ = try bomb.submit()
        bomb.receive(
            headers(
                1,
                [0x88, 0x40, 1, 0x61, 0x7F, 0xA1, 0x1E] + [UInt8](repeating: 0x62, count: 4000)
                    + [UInt8](repeating: 0xBE, count: 5000)
            )
        )
        #expect(bomb.actions() == [.closedStream(slot: 0, errorCode: 1)])
        #expect(bomb.response(0).fields.count < 20)
    }
}
