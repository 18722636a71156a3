/// A response as far as it came.
package struct HTTP2ResponseRecord: Sendable {
    /// 0 when no response came.
    package var status = 0
    package var fields = HTTPFields()
    package var body: [UInt8] = []
    /// The body was longer than the connection's limit and is not complete.
    package var isCutShort = false
    /// What the peer did wrong on this stream; it then has no answer.
    package var violation: HTTP2Violation?
}

/// What the peer of a client session did, in the order in which it did it.
enum PeerAction: Equatable {
    /// A stream has come to its end; its response, as far as it came, waits in its slot.
    case closedStream(slot: Int, errorCode: UInt32)
    /// The peer's SETTINGS have changed.
    case settings
    /// The peer's words are the session's ``HTTP2Session/goAwayText``.
    case goAway
}
