/// What a connection's owner asks before it uses it.
extension HTTP2ClientConnection {
    /// The peer has sent its SETTINGS, or was given time to.
    package var isReady: Bool { state == .ready && !awaitsSettings }

    package var isClosed: Bool { state == .closed }

    package var isDraining: Bool { slots.isDraining }

    package var openStreams: Int { slots.open }

    /// A PING is unanswered: better avoided while there is another connection.
    package var isAsked: Bool { liveness.isAsked }

    /// A PING has been unanswered for long: another connection is wanted.
    package func isInDoubt(now: ContinuousClock.Instant) -> Bool { liveness.isInDoubt(now: now) }

    /// The peer's error code in its last GOAWAY.
    package var goAwayCode: UInt32 { session.goAwayCode }
}
