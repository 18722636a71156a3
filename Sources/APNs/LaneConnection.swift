internal import HTTP2

/// One connection of a lane, with the pushes that are under way on it.
final class LaneConnection {
    let connection: HTTP2ClientConnection
    let openedAt: ContinuousClock.Instant
    var idleSince: ContinuousClock.Instant
    /// It has answered a request: APNs takes our provider token, and more than one stream.
    var isProven = false
    /// It has refused a stream: others first, until then.
    var pausedUntil: ContinuousClock.Instant?
    var refusals = 0
    var tokens = ConnectionTokenRule()
    /// Why it takes nothing any more; the first reason stands.
    private(set) var retireReason: ConnectionEnd?

    /// A push that is under way.
    struct Flight {
        var push: Push
        /// Of the provider token that it carries.
        let tokenGeneration: Int
        let writtenAt: ContinuousClock.Instant
    }

    private var flights: [Flight?] = []
    private var isSubmitting = false

    init(_ connection: HTTP2ClientConnection, now: ContinuousClock.Instant) {
        self.connection = connection
        openedAt = now
        idleSince = now
    }

    /// Runs `body`, which submits a request: if the connection drains meanwhile, its stream numbers are used up.
    func submitting<Result>(_ body: () throws(HTTP2Error) -> Result) throws(HTTP2Error) -> Result {
        isSubmitting = true
        defer { isSubmitting = false }
        return try body()
    }

    func begin(_ flight: Flight, slot: Int) {
        while flights.count <= slot { flights.append(nil) }
        flights[slot] = flight
    }

    /// The push of a slot whose request has ended.
    func end(slot: Int) -> Flight {
        guard let ended = flights[slot] else { preconditionFailure("no push in slot \(slot)") }
        flights[slot] = nil
        return ended
    }

    /// No new pushes on it; open ones may finish.
    func retire(_ reason: ConnectionEnd) {
        retireReason = retireReason ?? reason
        connection.retire()
    }

    /// It drains; where nobody here wanted that, APNs did, or there are no stream numbers left.
    func drains() { retireReason = retireReason ?? (isSubmitting ? .streamIDs : .goAway) }

    /// Why it ended, once it has.
    var endReason: ConnectionEnd {
        switch connection.endCause {
        case .drained, nil: retireReason ?? .closing
        case .closedByUs: .closing
        // A peer that closes after its GOAWAY, or while we drain, has ended what was agreed on.
        case .peerClosed: connection.openStreams == 0 ? retireReason ?? .reset : .reset
        case .silence: .silence
        case .tls: .tls
        case .protocolError: .protocolError
        }
    }
}
