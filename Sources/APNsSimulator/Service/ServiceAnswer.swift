import HTTP2

/// What the service answers to one request.
struct ServiceAnswer: Sendable {
    let head: HTTP2HeaderBlock
    let body: [UInt8]
    /// Nil for a success.
    let rejection: Rejection?
    /// The request carried a valid provider token.
    let isAuthenticated: Bool
}

/// What a fault rule makes of a request that would pass.
enum ScriptedOutcome: Sendable {
    case none
    case answer(Rejection)
    /// Accepted, and lost on the way to the phone.
    case undelivered
}
