/// What a client session has made of the server's bytes so far, as its owner sees it.
struct SessionView: Equatable {
    /// How a stream stands.
    enum End: Hashable {
        case open
        /// Complete, reset by the peer, or given back by its GOAWAY.
        case closed(code: UInt32)
        /// The peer broke a rule, and the session has reset the stream.
        case refused
    }

    struct Stream: Equatable {
        var end = End.open
        var status = 0
        var fields: [String] = []
        var body: [UInt8] = []
        /// Of the request's body.
        var sentBytes = 0

        /// What came before a stream was refused is nobody's to rely on.
        var isComparable: Bool { end != .refused }

        static func == (left: Self, right: Self) -> Bool {
            guard left.end == right.end, left.sentBytes == right.sentBytes else { return false }
            guard left.isComparable else { return true }
            return left.status == right.status && left.fields == right.fields && left.body == right.body
        }
    }

    var streams: [Stream]
    /// The session has said goodbye to a peer that broke the connection's rules.
    var isOver = false
    /// SETTINGS and PINGs that were answered.
    var answers = 0
    var goAways = 0
    var streamLimit = UInt32.max

    static func == (left: Self, right: Self) -> Bool {
        // After the end nothing counts but that it is one.
        if left.isOver || right.isOver { return left.isOver == right.isOver }
        return left.answers == right.answers && left.goAways == right.goAways && left.streamLimit == right.streamLimit
            && left.streams == right.streams
    }
}

extension SessionView: CustomStringConvertible {
    var description: String {
        let parts = streams.map { "\($0.end) \($0.status) \($0.fields) +\($0.body.count) sent \($0.sentBytes)" }
        return "\(isOver ? "over" : "goes on"), \(answers) answers, \(goAways) GOAWAYs, limit \(streamLimit), \(parts)"
    }
}

/// The requests that both sessions have sent when the server's bytes come.
enum SentRequests {
    /// Of streams 1, 3, 5 and 7: the third does not fit into a window, so its stream is half open when it is answered.
    static let bodyBytes = [0, 300, 200_000, 0]
    static let bodies = bodyBytes.map { [UInt8](repeating: 7, count: $0) }
    static let methods = ["POST", "POST", "POST", "HEAD"]

    static let streams = bodyBytes.indices.map { Int32(2 * $0 + 1) }

    /// `nil` for a stream that nobody has opened.
    static func slot(_ stream: Int32) -> Int? {
        stream & 1 == 1 && 1..<Int32(2 * bodyBytes.count) ~= stream ? Int(stream) / 2 : nil
    }
}
