internal import COpenSSL

/// Why TLS could not be set up or went wrong on a connection.
package enum TLSError: Error, Equatable, Sendable, CustomStringConvertible {
    /// A certificate, key or CA file that cannot be used, with the reason.
    case unusableFile(path: String, reason: String)
    /// The peer's certificate was refused: chain, date or host name.
    case certificateRefused(reason: String)
    /// TLS 1.2's second handshake on one connection, which HTTP/2 forbids (RFC 9113, 9.2.1).
    case renegotiationAsked
    /// Anything else that OpenSSL reported.
    case library(String)

    package var description: String {
        switch self {
        case .unusableFile(let path, let reason): "\(path): \(reason)"
        case .certificateRefused(let reason): "certificate refused: \(reason)"
        case .renegotiationAsked:
            "the peer asked for a renegotiation of TLS, which HTTP/2 forbids (RFC 9113, 9.2.1)"
        case .library(let reason): "TLS: \(reason)"
        }
    }
}

/// Takes every entry off the thread's error queue and returns the first one's text; empty without an entry.
///
/// A stale entry would make the next `SSL_get_error` on this thread lie, about a connection that has nothing to do with it.
func drainTLSErrors() -> String {
    var text = ""
    while true {
        let code = ERR_get_error()
        if code == 0 { return text }
        if text.isEmpty, let reason = ERR_reason_error_string(code) { text = String(cString: reason) }
    }
}
