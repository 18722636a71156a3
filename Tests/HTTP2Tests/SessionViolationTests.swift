import TestSupport
import Testing

@testable import HTTP2

private typealias Server = ScriptedHTTP2Server

@Suite("A client session whose peer contradicts itself")
struct SessionViolationTests {
    private static func field(_ name: String, _ value: String) -> [UInt8] {
        [0x00, UInt8(name.utf8.count)] + Array(name.utf8) + [UInt8(value.utf8.count)] + Array(value.utf8)
    }

    private static func headers(_ block: [UInt8], ends: Bool = true) -> [UInt8] {
        Server.frame(type: 1, flags: ends ? 5 : 4, stream: 1, block)
    }

    private static func data(_ bytes: [UInt8], ends: Bool = true) -> [UInt8] {
        Server.frame(type: 0, flags: ends ? 1 : 0, stream: 1, bytes)
    }

    private static let ok: [UInt8] = [0x88]
    private static let promise = ok + field("content-length", "3")

    /// What comes after `:status 200`, the frame that it is blamed on, and a word of the rule.
    private static let answers: [(what: String, frames: [[UInt8]], blame: String)] = [
        ("no status", [headers(field("a", "b"))], "HEADERS on stream 1: the fields are malformed"),
        ("two statuses", [headers(ok + [0x8E])], "HEADERS on stream 1: the fields are malformed"),
        ("a field of a request", [headers(ok + field(":path", "/"))], "HEADERS on stream 1: the fields are malformed"),
        ("a capital", [headers(ok + field("A", "b"))], "HEADERS on stream 1: the fields are malformed"),
        (
            "a field of HTTP/1.1", [headers(ok + field("connection", "x"))],
            "HEADERS on stream 1: the fields are malformed"
        ),
        (
            "two lengths", [headers(promise + field("content-length", "4"))],
            "HEADERS on stream 1: the fields are malformed"
        ),
        ("a length that is none", [headers(ok + field("content-length", "x"))], "HEADERS on stream 1: the fields"),
        ("too little", [headers(promise, ends: false), data([1])], "DATA on stream 1: the body's length"),
        ("nothing", [headers(promise)], "HEADERS on stream 1: the body's length"),
        ("too much", [headers(promise, ends: false), data([1, 2, 3, 4])], "DATA on stream 1: the body's length"),
        (
            "trailers that do not end it", [headers(ok, ends: false), headers(field("a", "b"), ends: false)],
            "HEADERS on stream 1: fields after the body must end the stream"
        ),
        ("a second response", [headers(ok, ends: false), headers([0x8E])], "HEADERS on stream 1: the fields"),
        (
            "a window that does not grow", [headers(ok, ends: false), Server.windowUpdate(0, stream: 1)],
            "WINDOW_UPDATE on stream 1: a window must grow"
        ),
    ]

    @Test("has no answer where it breaks a rule after :status 200, and says which", arguments: answers.indices)
    func malformed(number: Int) throws {
        let (what, frames, blame) = Self.answers[number]
        let peer = try SessionPeer()
        _ = try peer.submit()
        for bytes in frames { peer.receive(bytes) }
        let response = peer.peek(0)
        #expect(response.status == 0 && response.fields.isEmpty && response.body.isEmpty, "\(what)")
        #expect(
            response.violation?.description.hasPrefix(blame) == true,
            "\(what): \(String(describing: response.violation))"
        )
        #expect(!peer.isOver)
    }

    /// What ends the connection, and what is said of it.
    private static let ends: [(what: String, frames: [[UInt8]], blame: String)] = [
        (
            "an index that no table has", [headers(ok + [0xFF, 0xFF, 0xFF, 0xFF, 0x0F])],
            "HEADERS on stream 1: the header block cannot be decoded (RFC 9113, 4.3)"
        ),
        (
            "a block that breaks off", [headers(ok + [0x00, 0x05, 0x61])],
            "HEADERS on stream 1: the header block cannot"
        ),
        (
            "the same in its second frame",
            [
                Server.frame(type: 1, flags: 1, stream: 1, ok),
                Server.frame(type: 9, flags: 4, stream: 1, [0xFF, 0xFF]),
            ],
            "CONTINUATION on stream 1: the header block cannot"
        ),
        (
            "trailers that do not decode", [headers(ok, ends: false), headers([0xFF, 0xFF])],
            "HEADERS on stream 1: the header"
        ),
        (
            "something between the frames of a block",
            [Server.frame(type: 1, flags: 1, stream: 1, ok), Server.frame(type: 6, Array(1...8))],
            "PING: a header block's frames must follow each other (RFC 9113, 6.10)"
        ),
        (
            "padding without end", [headers(ok, ends: false), Server.frame(type: 0, flags: 9, stream: 1, [9, 1])],
            "DATA on stream 1: the padding"
        ),
    ]

    @Test("has no answer where the connection ends by its stream, and says why", arguments: ends.indices)
    func undecodable(number: Int) throws {
        let (what, frames, blame) = Self.ends[number]
        let peer = try SessionPeer()
        _ = try peer.submit()
        for bytes in frames { peer.receive(bytes) }
        #expect(peer.isOver && peer.peek(0).status == 0, "\(what)")
        #expect(peer.violation?.description.hasPrefix(blame) == true, "\(what): \(String(describing: peer.violation))")
    }

    @Test("keeps what other streams were answered when the connection ends")
    func othersStand() throws {
        let peer = try SessionPeer()
        _ = try (peer.submit(), peer.submit())
        peer.receive(Server.frame(type: 1, flags: 4, stream: 3, Self.ok))
        peer.receive(Self.headers(Self.ok + [0xFF, 0xFF, 0xFF, 0xFF, 0x0F]))
        #expect(peer.isOver && peer.peek(0).status == 0 && peer.peek(1).status == 200)
    }

    @Test("names the frame, the place in RFC 9113 and no stream where none is meant")
    func names() throws {
        let peer = try SessionPeer()
        peer.receive(Server.frame(type: 6, [1, 2, 3]))
        #expect(peer.violation?.description == "PING: a frame of this type has another length (RFC 9113, 6)")
        let flood = try SessionPeer()
        for _ in 0..<100_000 where !flood.isOver { flood.receive(Server.frame(type: 6, Array(1...8))) }
        #expect(flood.violation?.description.hasPrefix("the peer asks for answers") == true)
        let push = try SessionPeer()
        push.receive(Server.frame(type: 5, flags: 4, stream: 2, [0, 0, 0, 2, 0x88]))
        #expect(push.violation?.description.hasPrefix("PUSH_PROMISE on stream 2: pushes") == true)
        let large = try SessionPeer()
        large.receive([0, 0x40, 1, 1, 0, 0, 0, 0, 1])
        #expect(large.violation?.description.hasPrefix("HEADERS on stream 1: it is longer than the 16384") == true)
    }

    @Test("each rule says where it stands, and no two say the same")
    func rules() {
        let texts = HTTP2Rule.allCases.map(\.text)
        #expect(texts.allSatisfy { $0.contains("RFC 9113, ") } && Set(texts).count == texts.count)
    }
}
