internal import APNsProtocol

/// Why a push was sent a second time.
package enum ResendCause: String, CaseIterable, Sendable {
    case refusedStream = "refused_stream"
    /// Above the last stream of a GOAWAY.
    case goAway = "goaway"
    /// The connection broke before its bytes left.
    case notSent = "not_sent"
    /// `ExpiredProviderToken`, and there is another token.
    case providerToken = "provider_token"
    /// `TooManyProviderTokenUpdates`: the same token, on another connection.
    case tokenUpdates = "token_updates"
    /// `Shutdown`, `IdleTimeout`, `UnrelatedKeyIdInToken`.
    case replacedConnection = "replaced_connection"
    /// `TopicDisallowed` on a connection that may be older than the topic.
    case topic
}

/// Why it is not known whether a push arrived.
package enum UnknownCause: String, CaseIterable, Sendable {
    case reset = "stream_reset"
    /// The answer broke HTTP/2: it tells nothing.
    case malformed = "malformed_answer"
    case connectionLost = "connection_lost"
    case deadline
}

/// Why a push was not sent, or not taken up.
package enum NotProcessedCause: String, CaseIterable, Sendable {
    /// Its deadline came while it waited.
    case deadline
    /// Its caller's task was cancelled.
    case withdrawn
    /// The pool was drained, or the lane's credential withdrawn.
    case closing
    /// No peer had taken it up after `resendLimit` further requests.
    case resendLimit = "resend_limit"
}

/// Why a connection ended, or did not come about.
package enum ConnectionEnd: String, CaseIterable, Sendable {
    /// No address, or no TCP connection.
    case unreachable
    /// The handshake failed or took too long, the certificate was refused, or h2 was not agreed on.
    case tls
    case goAway = "goaway"
    /// FIN or RST of the peer.
    case reset
    /// A PING without an answer.
    case silence
    /// It answers PINGs and no requests.
    case unanswered
    /// The peer broke HTTP/2's rules.
    case protocolError = "protocol_error"
    case idle
    case age
    case streamIDs = "stream_ids"
    /// The provider token changed too early for it, or too often.
    case providerToken = "provider_token"
    /// APNs asked for another one: `Shutdown`, `IdleTimeout`, `UnrelatedKeyIdInToken`, `TopicDisallowed`.
    case replaced
    /// The pool was drained, or the lane's credential withdrawn.
    case closing
}

/// The names under which refusals are counted: APNs' reasons that we know, and few others, whatever APNs sends.
package enum RefusalLabel {
    /// A refusal without a reason.
    package static let none = "none"
    /// A reason that is new to us.
    package static let other = "other"
    /// A status that APNs never sends: something else answers in its place.
    package static let foreign = "not_apns"
    /// The provider token cannot be made: nothing was sent.
    package static let noProviderToken = "no_provider_token"

    static let all: [String] = APNsReason.kinds.keys.sorted() + [none, other, foreign, noProviderToken]

    private static let places = Dictionary(uniqueKeysWithValues: all.enumerated().map { ($0.element, $0.offset) })

    /// The place in ``all`` of a reason.
    static func place(of reason: String) -> Int {
        places[reason.isEmpty ? none : reason] ?? places[other, default: 0]
    }
}
