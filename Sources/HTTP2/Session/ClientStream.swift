/// One open stream of a client session: its number, what it may still send, and its response as far as it came.
struct ClientStream {
    enum Phase {
        case free
        /// No response yet but interim ones.
        case awaiting
        /// The fields of the response have come.
        case answering
        /// The response is complete; the rest of the request's body is still to be sent.
        case answered
    }

    var number: Int32 = 0
    var phase = Phase.free
    /// What the peer's window of this stream still takes; may be negative (RFC 9113, 6.9.2).
    var sendWindow = 0
    /// What ours still takes.
    var receiveWindow = 0
    /// Kept while a part of it is unsent.
    var body: HTTP2Body?
    var sentBytes = 0
    var response = HTTP2ResponseRecord()
    var receivedBytes = 0
    /// By the response's `content-length`; -1 without.
    var promisedBytes = -1
    var isHead = false

    var unsentBytes: Int { body.map { $0.count - sentBytes } ?? 0 }

    /// Whether the response has no body, whatever it says of its length (RFC 9110, 6.4.1).
    private var isBodiless: Bool { isHead || response.status == 204 || response.status == 304 }

    /// Whether more bytes came than were promised (RFC 9113, 8.1.1).
    var isTooLong: Bool { receivedBytes > 0 && (isBodiless || (promisedBytes >= 0 && receivedBytes > promisedBytes)) }

    /// Whether as many bytes came as were promised.
    var isWhole: Bool { isBodiless || promisedBytes < 0 || promisedBytes == receivedBytes }
}
