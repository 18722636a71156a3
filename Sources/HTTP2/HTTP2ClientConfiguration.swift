/// How a client connection behaves.
package struct HTTP2ClientConfiguration: Sendable {
    /// Our own limit of streams at once; the peer's counts too.
    package var streamLimit = 1000
    /// Whether the first response is waited for before a second stream is opened, as APNs wants it with provider tokens.
    package var firstRequestAlone = false
    /// The response fields to keep, in lower case; `nil` keeps all.
    package var wantedFields: [String]?
    /// What is held of a response's body.
    package var maxBodyBytes = 16 << 20
    /// Silence before a PING while streams are open.
    package var busyPing: Duration = .seconds(5)
    /// Silence before a PING while none is.
    package var idlePing: Duration = .seconds(60)
    /// How long a PING's answer may take.
    package var pingTimeout: Duration = .seconds(10)

    package init() {}
}

/// How a request ended.
package enum HTTP2StreamEnd: Equatable, Sendable {
    /// The response is complete.
    case answered
    /// The peer has not taken it up: safe to repeat.
    case notProcessed
    /// The peer reset the stream.
    case reset(code: UInt32)
    /// The connection broke: it may have been processed.
    case lost
    /// It may have been processed.
    case deadlinePassed
}

/// What a client connection tells its owner, on the loop's thread. The owner may call the connection from within each.
package struct HTTP2ClientHandlers {
    /// Requests can be submitted from now on.
    package var ready: () -> Void
    /// The request in `slot` has ended; the slot is the connection's again.
    package var ended: (_ slot: Int, HTTP2StreamEnd, HTTP2ResponseRecord) -> Void
    /// Perhaps there is room for more: a stream ended, a limit or a window grew, the socket takes bytes again.
    package var room: () -> Void
    /// No new requests any more; open ones go on. With the peer's words, if it gave any.
    package var draining: (_ debug: String) -> Void
    /// Once, and nothing after it: `nil` after a drain that went to its end, else why. All requests have ended before.
    package var closed: (HTTP2Error?) -> Void

    package init(
        ready: @escaping () -> Void,
        ended: @escaping (_ slot: Int, HTTP2StreamEnd, HTTP2ResponseRecord) -> Void,
        room: @escaping () -> Void,
        draining: @escaping (_ debug: String) -> Void,
        closed: @escaping (HTTP2Error?) -> Void
    ) {
        self.ready = ready
        self.ended = ended
        self.room = room
        self.draining = draining
        self.closed = closed
    }
}
