/// What a rule does to the requests that it matches.
enum FaultAction: Equatable, Sendable {
    /// Answers so, if the request passes every check.
    case answer(Rejection)
    /// RST_STREAM with this error code.
    case reset(UInt32)
    case goAway(GoAwayFault)
    /// The request is looked at only after this time.
    case delay(Duration)
    /// The connection reads and writes nothing from here on.
    case silence
    /// The connection is closed at once.
    case close
    /// The connection's stream limit becomes this, as long as the rules stand.
    case streamLimit(Int)
    /// Accepted, and lost on the way to the phone.
    case undelivered
}

/// A GOAWAY frame after some streams of a connection.
struct GoAwayFault: Equatable, Sendable {
    /// How many matching streams a connection sees until then; the last of them brings the frame.
    let afterStreams: Int
    /// Streams above are never answered. Nil: the newest stream.
    let lastStream: Int32?
    let debug: String
    let code: UInt32
}
