/// A rule of HTTP/2 that a peer broke, and by which frame.
package struct HTTP2Violation: Hashable, Sendable, CustomStringConvertible {
    /// The frame's type; nil where no frame is to blame.
    let frameType: UInt8?
    /// 0: the connection's.
    let stream: Int32
    let rule: HTTP2Rule

    package var description: String {
        guard let frameType else { return rule.text }
        let place = stream == 0 ? "" : " on stream \(stream)"
        return "\(HTTP2Frame.name(ofType: frameType))\(place): \(rule.text)"
    }
}

/// The rules of RFC 9113 that a peer of ours can break.
enum HTTP2Rule: UInt8, CaseIterable {
    case settingsFirst
    case unbrokenBlock
    case frameSize
    case payloadLength
    case padding
    case streamNumber
    case goAwayRises
    case noPushes
    case blockLength
    case decodableBlock
    case wellFormedFields
    case trailersEnd
    case interimEnds
    case nothingAfterEnd
    case fieldsBeforeBody
    case contentLength
    case window
    case windowIncrement
    case settingValue
    case unreadAnswers

    /// What the peer should have kept to, and where that stands.
    var text: String {
        switch self {
        case .settingsFirst: "the first frame of a connection must be SETTINGS (RFC 9113, 3.4)"
        case .unbrokenBlock: "a header block's frames must follow each other (RFC 9113, 6.10)"
        case .frameSize: "it is longer than the \(HTTP2Frame.smallestLimit) bytes that were allowed (RFC 9113, 4.2)"
        case .payloadLength: "a frame of this type has another length (RFC 9113, 6)"
        case .padding: "the padding does not fit into the frame (RFC 9113, 6.1)"
        case .streamNumber: "a frame of this type must not come on this stream (RFC 9113, 5.1.1 and 6)"
        case .goAwayRises: "the last stream of a GOAWAY must not rise (RFC 9113, 6.8)"
        case .noPushes: "pushes of the server were switched off (RFC 9113, 8.4)"
        case .blockLength: "the header block does not come to an end (RFC 9113, 10.5.1)"
        case .decodableBlock: "the header block cannot be decoded (RFC 9113, 4.3)"
        case .wellFormedFields: "the fields are malformed, or contradict each other (RFC 9113, 8.1 to 8.3)"
        case .trailersEnd: "fields after the body must end the stream (RFC 9113, 8.1)"
        case .interimEnds: "an interim response must not end the stream, nor switch protocols (RFC 9113, 8.1 and 8.6)"
        case .nothingAfterEnd: "nothing may come after the end of a stream (RFC 9113, 5.1)"
        case .fieldsBeforeBody: "a body must not come before the response's fields (RFC 9113, 8.1)"
        case .contentLength: "the body's length is not the content-length (RFC 9113, 8.1.1)"
        case .window: "more came than the flow-control window allowed (RFC 9113, 5.2)"
        case .windowIncrement: "a window must grow, and to 2^31 - 1 at most (RFC 9113, 6.9)"
        case .settingValue: "a setting has a value that it must not have (RFC 9113, 6.5.2)"
        case .unreadAnswers: "the peer asks for answers, and does not read them (RFC 9113, 10.5)"
        }
    }
}

extension HTTP2Frame {
    /// As RFC 9113 calls it.
    static func name(ofType type: UInt8) -> String {
        switch type {
        case data: "DATA"
        case headers: "HEADERS"
        case priority: "PRIORITY"
        case reset: "RST_STREAM"
        case settings: "SETTINGS"
        case pushPromise: "PUSH_PROMISE"
        case ping: "PING"
        case goAway: "GOAWAY"
        case windowUpdate: "WINDOW_UPDATE"
        case continuation: "CONTINUATION"
        default: "a frame of type \(type)"
        }
    }
}
