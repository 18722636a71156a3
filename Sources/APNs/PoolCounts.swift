/// What a pool has done and has in hand, read at one moment without stopping it.
///
/// Each push that came back to its caller is counted once under ``accepted``, ``refused``, ``unknownBy`` or
/// ``notProcessedBy``.
package struct PoolCounts: Equatable, Sendable {
    /// Urgent pushes, channels' among them, that wait for a stream.
    package var waitingUrgent = 0
    package var waitingRoutine = 0
    /// Pushes of batches that wait outside, since the queue is at its limit.
    package var outside = 0
    /// Pushes handed to a connection and not yet answered: streams in flight.
    package var inFlight = 0
    package var connections = 0
    package var connectionsOpened = 0
    /// Connections that ended, and attempts that failed.
    package var connectionsClosed: [ConnectionEnd: Int] = [:]
    package var accepted = 0
    /// Answers that were not 200, by APNs' reason; see ``RefusalLabel``.
    package var refused: [String: Int] = [:]
    /// It may have arrived.
    package var unknownBy: [UnknownCause: Int] = [:]
    /// It has not been sent, or no peer has taken it up.
    package var notProcessedBy: [NotProcessedCause: Int] = [:]
    /// Requests beyond the first of a push.
    package var resentBy: [ResendCause: Int] = [:]

    package init() {}

    /// Pushes that wait for a stream.
    package var waiting: Int { waitingUrgent + waitingRoutine }
    package var unknown: Int { unknownBy.values.reduce(0, +) }
    package var notProcessed: Int { notProcessedBy.values.reduce(0, +) }
    /// Refused, for whatever reason.
    package var other: Int { refused.values.reduce(0, +) }
    package var resent: Int { resentBy.values.reduce(0, +) }

    /// Connections that could not be made, and those that ended without our or APNs' wish.
    package var connectionsFailed: Int {
        connectionsClosed.reduce(0) { sum, closed in
            switch closed.key {
            case .unreachable, .tls, .reset, .silence, .unanswered, .protocolError: sum + closed.value
            case .goAway, .idle, .age, .streamIDs, .providerToken, .replaced, .closing: sum
            }
        }
    }

    /// Pushes that came back to their callers.
    package var ended: Int { accepted + other + unknown + notProcessed }

    static func + (left: PoolCounts, right: PoolCounts) -> PoolCounts {
        var sum = left
        sum.waitingUrgent += right.waitingUrgent
        sum.waitingRoutine += right.waitingRoutine
        sum.outside += right.outside
        sum.inFlight += right.inFlight
        sum.connections += right.connections
        sum.connectionsOpened += right.connectionsOpened
        sum.connectionsClosed.merge(right.connectionsClosed, uniquingKeysWith: +)
        sum.accepted += right.accepted
        sum.refused.merge(right.refused, uniquingKeysWith: +)
        sum.unknownBy.merge(right.unknownBy, uniquingKeysWith: +)
        sum.notProcessedBy.merge(right.notProcessedBy, uniquingKeysWith: +)
        sum.resentBy.merge(right.resentBy, uniquingKeysWith: +)
        return sum
    }
}
