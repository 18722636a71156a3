@testable import HTTP2
import TestSupport

/// A client session without a socket, and the frames that it has written.
final class SessionPeer {
    typealias Server = ScriptedHTTP2Server

    struct Frame: Equatable {
        let type: UInt8
        let flags: UInt8
        let stream: Int32
        let payload: [UInt8]

        /// Of RST_STREAM: its error code.
        var code: UInt32 { integer(0) }

        func integer(_ start: Int) -> UInt32 { payload[start..<start + 4].reduce(0) { $0 << 8 | UInt32($1) } }
    }

    static let template = HTTP2RequestTemplate(
        constant: [(":method", "POST"), (":scheme", "https"), (":authority", "localhost")],
        varying: [":path"]
    )
    var session: HTTP2Session
    private var values = HTTP2FieldValues(capacity: 1 << 16)
    private var nextSlot = 0

    /// Has read the preface, and sent `settings` unless they are `nil`.
    init(
        settings: [(id: UInt16, value: UInt32)]? = [],
        wantedFields: [String]? = nil,
        maxBodyBytes: Int = 1 << 24,
        firstNumber: Int32 = 1
    ) throws {
        session = try HTTP2Session(
            wantedFields: wantedFields,
            maxBodyBytes: maxBodyBytes,
            firstNumber: firstNumber
        )
        session.output.removeFirst(HTTP2Frame.preface.utf8.count)
        _ = frames()
        if let settings {
            receive(Server.settings(settings))
            _ = frames()
            _ = actions()
        }
    }

    // Not through `session`: a macro cannot take what is not copyable apart.
    var isOver: Bool { session.isOver }
    var violation: HTTP2Violation? { session.violation }
    var outputBytes: Int { session.output.count }
    var streamLimit: Int { session.remoteStreamLimit }
    var goAwayText: String { session.goAwayText }
    var roomForBodies: Int { session.roomForBodies }

    func receive(_ bytes: UnsafeRawBufferPointer) { session.receive(bytes) }

    func receive(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { session.receive($0) }
    }

    func submit(
        _ template: HTTP2RequestTemplate = SessionPeer.template,
        path: String? = "/",
        body: [UInt8] = []
    ) throws -> Int32 {
        values.removeAll()
        if let path {
            values.write(path)
            values.finishValue()
        }
        defer { nextSlot += 1 }
        return try session.submit(template, values, body: body.isEmpty ? nil : HTTP2Body(body), slot: nextSlot)
    }

    func reset(_ stream: Int32) { session.submitReset(stream: stream, code: 8) }

    func sendBodies() { session.sendBodies() }

    func actions() -> [PeerAction] { session.takeActions() }

    /// A response as far as it came.
    func peek(_ slot: Int) -> HTTP2ResponseRecord { session.response(of: slot) }

    func response(_ slot: Int) -> HTTP2ResponseRecord { session.takeResponse(slot: slot) }

    /// Everything written since the last call.
    func frames() -> [Frame] {
        let bytes = session.output.withFront(.max >> 1) { Array($0) }
        session.output.removeFirst(bytes.count)
        var frames: [Frame] = []
        var start = 0
        while start < bytes.count {
            let header = bytes[start...].withUnsafeBufferPointer { $0.baseAddress.map { HTTP2FrameHeader($0) } }
            guard let header else { break }
            let payload = bytes[start + 9..<start + 9 + header.length]
            frames.append(
                Frame(type: header.type, flags: header.flags, stream: header.stream, payload: Array(payload))
            )
            start += 9 + header.length
        }
        return frames
    }
}
