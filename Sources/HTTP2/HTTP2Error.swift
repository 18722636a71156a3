internal import CNghttp2

/// What can end an HTTP/2 connection or a request on it.
package enum HTTP2Error: Error, Hashable, Sendable, CustomStringConvertible {
    /// No connection came about: name, socket, TLS or ALPN, in words.
    case cannotConnect(String)
    /// The connection broke or was closed while the request was under way: it may have been processed.
    case connectionLost(String)
    /// The peer did not take the request up (REFUSED_STREAM, above GOAWAY's last stream, or never written): safe to repeat.
    case notProcessed
    /// The peer reset the stream with this error code.
    case streamReset(code: UInt32)
    /// The answer broke HTTP/2, as said: it tells nothing, and the request may have been processed.
    case malformedResponse(String)
    /// The deadline passed. `written` says whether the peer may have seen the request.
    case deadlinePassed(written: Bool)
    /// The response's body is longer than its reader would hold.
    case responseTooLarge(limit: Int)
    /// nghttp2 refused a call, with its error code.
    case library(code: Int32)

    package var description: String {
        switch self {
        case .cannotConnect(let reason): "cannot connect: \(reason)"
        case .connectionLost(let reason): "connection lost: \(reason)"
        case .notProcessed: "not processed by the peer"
        case .streamReset(let code): "stream reset by the peer: \(String(cString: nghttp2_http2_strerror(code)))"
        case .malformedResponse(let rule): "the answer broke HTTP/2: \(rule)"
        case .deadlinePassed: "no answer within the deadline"
        case .responseTooLarge(let limit): "the response is longer than \(limit) bytes"
        case .library(let code): "HTTP/2: \(String(cString: nghttp2_strerror(code)))"
        }
    }
}
