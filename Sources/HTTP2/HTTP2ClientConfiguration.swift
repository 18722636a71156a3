/// How a client connection behaves.
package struct HTTP2ClientConfiguration: Sendable {
    /// Our own limit of streams at once; the peer's counts too.
    package var streamLimit = 1000
    /// Whether the first response is waited for before a second stream is opened, as APNs wants it with provider tokens.
    package var firstRequestAlone = false
    /// Fields of requests whose values vary, in lower case: only their names enter the peer's table.
    package var varyingFields: Set<String> = []
    /// The response fields to keep, in lower case; `nil` keeps all.
    package var wantedFields: [String]?
    /// The same of a response that is not a 200, where there is more to tell; `nil`: as ``wantedFields``.
    package var wantedErrorFields: [String]?
    /// What is held of a response's body.
    package var maxBodyBytes = 16 << 20
    /// How long a thin stream of requests may be gathered; zero: each turn's leave at its end.
    package var gathering: Duration = .zero
    /// Silence before a PING while streams are open.
    package var busyPing: Duration = .seconds(5)
    /// Silence before a PING while none is.
    package var idlePing: Duration = .seconds(60)
    /// How long a PING's answer may take.
    package var pingTimeout: Duration = .seconds(5)
    /// After this silence the first request takes a PING along: an idle link may have died without a word.
    package var trustedSilence: Duration = .seconds(3)
    /// How long the answer to that PING may take.
    package var probeTimeout: Duration = .seconds(3)
    /// A PING without an answer for so long puts the connection in doubt.
    package var pingPatience: Duration = .seconds(1)
    /// How long the first request waits for the peer's SETTINGS: a peer that does not want the connection closes it in their
    /// place, and nothing was sent then.
    package var settingsPatience: Duration = .seconds(1)
    /// Whether the streams at once grow with the answers, twice as many at most: for a peer that nothing is known of.
    package var startsSlowly = false
    /// The number of the first stream: odd. Tests begin near the last, 2^31 - 1.
    package var firstStream: Int32 = 1

    package init() {}

    var liveness: Liveness.Intervals {
        Liveness.Intervals(
            busy: busyPing,
            idle: idlePing,
            timeout: pingTimeout,
            trustedSilence: trustedSilence,
            probeTimeout: probeTimeout,
            patience: pingPatience
        )
    }
}

/// Streams and bytes of the connection window that ordinary requests leave free for urgent ones.
package struct HTTP2Reserve: Equatable, Sendable {
    /// At most a sixteenth of the streams that may be open: a peer that allows few loses none of them.
    package var streams: Int
    package var windowBytes: Int

    package static let none = HTTP2Reserve(streams: 0, windowBytes: 0)

    package init(streams: Int, windowBytes: Int) {
        self.streams = streams
        self.windowBytes = windowBytes
    }
}

/// Who or what ended a connection.
package enum HTTP2EndCause: Equatable, Sendable {
    /// A drain that went to its end, whoever had begun it.
    case drained
    /// ``HTTP2ClientConnection/close()``.
    case closedByUs
    /// FIN or RST.
    case peerClosed
    /// A PING without an answer.
    case silence
    /// The handshake failed or took too long, the certificate was refused, or h2 was not agreed on.
    case tls
    /// The peer broke HTTP/2's rules.
    case protocolError
}

/// How a request ended.
package enum HTTP2StreamEnd: Equatable, Sendable {
    /// The response is complete.
    case answered
    /// The peer has not taken it up: safe to repeat.
    case notProcessed
    /// The connection broke before all of it had left: safe to repeat, since half a body is no push.
    case notSent
    /// The stream was reset: by the peer, or for fields that are longer than we hold.
    case reset(code: UInt32)
    /// The peer's answer broke a rule of HTTP/2: it tells nothing, and the request may have been processed.
    case malformed(HTTP2Violation)
    /// The connection broke: it may have been processed.
    case lost
    /// `isWhole`: all of the request was written; it may have been processed.
    case deadlinePassed(isWhole: Bool)
}

/// What a client connection tells its owner, on the loop's thread. The owner may call the connection from within each.
package struct HTTP2ClientHandlers {
    /// Requests can be submitted from now on.
    package var ready: () -> Void
    /// The request in `slot` has ended; the slot is the connection's again. The response is what came of it, also where
    /// the end is not an answer: its status tells what the peer has done even if the rest never arrived.
    package var ended: (_ slot: Int, HTTP2StreamEnd, HTTP2ResponseRecord) -> Void
    /// Perhaps there is room for more: a stream ended, a limit or a window grew, the socket takes bytes again.
    package var room: () -> Void
    /// No new requests any more; open ones go on. With the peer's words, if it gave any.
    package var draining: (_ debug: String) -> Void
    /// A PING's answer takes long: others are better used, and perhaps another connection is wanted.
    package var inDoubt: () -> Void
    /// Once, and nothing after it: `nil` after a drain that went to its end, else why. All requests have ended before.
    package var closed: (HTTP2Error?) -> Void

    package init(
        ready: @escaping () -> Void,
        ended: @escaping (_ slot: Int, HTTP2StreamEnd, HTTP2ResponseRecord) -> Void,
        room: @escaping () -> Void,
        draining: @escaping (_ debug: String) -> Void,
        inDoubt: @escaping () -> Void = {},
        closed: @escaping (HTTP2Error?) -> Void
    ) {
        self.ready = ready
        self.ended = ended
        self.room = room
        self.draining = draining
        self.inDoubt = inDoubt
        self.closed = closed
    }
}
