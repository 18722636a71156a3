/// What a rule does to the requests, or the connections, that it matches.
enum FaultAction: Equatable, Sendable {
    // These settle a request: of several rules that match, the first decides.

    /// Answers so, if the request passes every check.
    case answer(Rejection)
    /// RST_STREAM with this error code.
    case reset(UInt32)
    /// The connection reads and writes nothing from here on.
    case silence
    /// The connection acknowledges PINGs and SETTINGS, and answers no request from here on.
    case mute
    /// The connection is closed at once.
    case close
    /// The connection is reset (TCP RST).
    case tcpReset
    /// The answer begins and never ends.
    case halfAnswer
    /// Accepted, and lost on the way to the phone.
    case undelivered
    /// Carried out; then the connection is closed, and the answer lost with it.
    case lostAnswer

    // These come on top.

    case goAway(GoAwayFault)
    /// The request is looked at only after this time, and up to `jitter` more.
    case delay(Duration, jitter: Duration = .zero)
    /// The connection's stream limit becomes this: as long as the rule matches its requests, or for a time.
    case streamLimit(Int, lasting: Duration? = nil)
    /// A frame that no client asked for goes out first.
    case frame(StrayFrame)
    /// The answer's `date` is so many seconds off.
    case dateOffset(Int)

    // These befall a connection that is accepted.

    /// It is reset before a byte is read.
    case refuse
    /// The TLS handshake fails, by an alert.
    case tlsFailure
    /// The first SETTINGS, and whatever else the service has to say, comes so much later.
    case settingsDelay(Duration)
    /// Its streams never get a window: heads of requests come, bodies do not.
    case noWindow

    var isOfConnection: Bool {
        switch self {
        case .refuse, .tlsFailure, .settingsDelay, .noWindow: true
        default: false
        }
    }
}

/// What rules do to one request when it is time to answer it.
struct ScriptedFault: Equatable, Sendable {
    var settling: FaultAction?
    var frames: [StrayFrame] = []
    /// Seconds that the answer's `date` is off.
    var dateOffset = 0
}

/// A GOAWAY frame after some streams of a connection.
struct GoAwayFault: Equatable, Sendable {
    /// How many matching streams a connection sees until then; the last of them brings the frame.
    let afterStreams: Int
    /// Streams above are never answered. Nil: the newest stream.
    let lastStream: Int32?
    let debug: String
    let code: UInt32
    /// A first GOAWAY that still lets in every stream goes before the one that counts (RFC 9113, 6.8).
    var isInTwoSteps = false
}

/// Frames that a client must get along with.
enum StrayFrame: Equatable, Sendable {
    /// Of a type that nobody knows, to be ignored (RFC 9113, 4.1).
    case unknown
    /// Forbidden to a client that takes no pushes: a connection error at its side (RFC 9113, 8.4).
    case pushPromise

    /// The frame as it goes out beside a request's stream.
    func bytes(on stream: Int32) -> [UInt8] {
        let number = (0..<4).map { UInt8(truncatingIfNeeded: stream >> Int32(24 - 8 * $0)) }
        switch self {
        case .unknown: return [0, 0, 4, 0xFA, 0x55] + number + Array("what".utf8)
        case .pushPromise:
            // Stream 2 with GET https://localhost/, in fields that leave the compression's state alone.
            let block: [UInt8] = [0, 0, 0, 2, 0x82, 0x87, 0x84, 0x01, 9] + Array("localhost".utf8)
            return [0, 0, UInt8(block.count), 5, 0x4] + number + block
        }
    }
}
