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

    private var pushes: [(push: Push, tokenGeneration: Int)?] = []

    init(_ connection: HTTP2ClientConnection, now: ContinuousClock.Instant) {
        self.connection = connection
        openedAt = now
        idleSince = now
    }

    func begin(_ push: Push, tokenGeneration: Int, slot: Int) {
        while pushes.count <= slot { pushes.append(nil) }
        pushes[slot] = (push, tokenGeneration)
    }

    /// The push of a slot whose request has ended.
    func end(slot: Int) -> (push: Push, tokenGeneration: Int) {
        guard let ended = pushes[slot] else { preconditionFailure("no push in slot \(slot)") }
        pushes[slot] = nil
        return ended
    }
}
