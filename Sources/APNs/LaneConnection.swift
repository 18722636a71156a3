internal import HTTP2

/// One connection of a lane, with the pushes that are under way on it.
final class LaneConnection {
    let connection: HTTP2ClientConnection
    /// When its socket was begun with.
    let began: ContinuousClock.Instant
    let openedAt: ContinuousClock.Instant
    var idleSince: ContinuousClock.Instant
    /// It has answered a request: APNs takes our provider token, and more than one stream.
    var isProven = false
    /// Pushes that it took, whatever APNs thought of them.
    var taken = 0
    /// It has refused a stream though no other was open, or asked for quiet: others first, until then.
    var pausedUntil: ContinuousClock.Instant?
    /// In a row, with no other stream open.
    var refusals = 0
    var health: ConnectionHealth
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

    /// Pushes under way that must not be sent twice.
    private(set) var onceInFlight = 0
    private var flights: [Flight?] = []
    private var isSubmitting = false

    init(
        _ connection: HTTP2ClientConnection,
        health: ConnectionHealth,
        began: ContinuousClock.Instant,
        now: ContinuousClock.Instant
    ) {
        self.connection = connection
        self.health = health
        self.began = began
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
        if flight.push.batch.rank == .once { onceInFlight += 1 }
    }

    /// The push of a slot whose request has ended.
    func end(slot: Int) -> Flight {
        guard let ended = flights[slot] else { preconditionFailure("no push in slot \(slot)") }
        flights[slot] = nil
        if ended.push.batch.rank == .once { onceInFlight -= 1 }
        return ended
    }

    /// It may be of no use: others are preferred, and one is opened in its place.
    func isInDoubt(now: ContinuousClock.Instant) -> Bool {
        health.isInDoubt(now: now) || connection.isInDoubt(now: now)
    }

    /// No new pushes on it; open ones may finish.
    func retire(_ reason: ConnectionEnd) {
        retireReason = retireReason ?? reason
        connection.retire()
    }

    /// Closes it, since it answers nothing; what is under way is lost.
    func close(unanswered sentence: String) {
        retireReason = retireReason ?? .unanswered
        connection.close(because: sentence)
    }

    /// It drains; where nobody here wanted that, APNs did, or there are no stream numbers left.
    func drains() { retireReason = retireReason ?? (isSubmitting ? .streamIDs : .goAway) }

    /// Why it ended, once it has.
    var endReason: ConnectionEnd {
        switch connection.endCause {
        case .drained, nil: retireReason ?? .closing
        case .closedByUs: retireReason == .unanswered ? .unanswered : .closing
        // A peer that closes after its GOAWAY, or while we drain, has ended what was agreed on.
        case .peerClosed: connection.openStreams == 0 ? retireReason ?? .reset : .reset
        case .silence: .silence
        case .tls: .tls
        case .protocolError: .protocolError
        }
    }
}
