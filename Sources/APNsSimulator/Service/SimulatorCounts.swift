/// What arrived, and what was answered.
package struct SimulatorCounts: Sendable, Equatable {
    /// By route: device, broadcast, create, read, delete, list, and other for what had no route.
    package var requests: [String: Int] = [:]
    /// By status, with the reason where there was one: "200", "410 Unregistered".
    package var answers: [String: Int] = [:]
    package var connections = 0
    package var openConnections = 0
    /// Different provider tokens with a good signature.
    package var providerTokens = 0
    /// Accepted pushes that repeat one accepted before: the same `apns-id`, or the same token (or channel) with the same
    /// `aps.timestamp` as the push before.
    package var doubled = 0
    /// Those of `doubled` with an `apns-id` that was accepted before.
    package var doubledIDs = 0
    /// Those of `doubled` with the stamp that the same token or channel got last.
    package var doubledStamps = 0
    /// Of those with ids that count up (`--count-reordered`): accepted after one with a higher number for the same token.
    package var reordered = 0
    /// Ids were forgotten so often for want of room: `doubled` may be too small.
    package var idsForgotten = 0
    /// Streams that a client opened over the limit it knew.
    package var streamLimitBroken = 0

    /// Requests that came in whole: answered, reset or left unanswered.
    package var arrived = 0
    /// By error code: requests that a rule reset.
    package var resets: [UInt32: Int] = [:]
    /// Requests that were not answered, by what kept them from it: `goaway` (above the last stream), `silence`, `mute`,
    /// `close` (the one that brought it), `half_answer`, `cancelled` (given up by the client while they waited).
    package var unanswered: [String: Int] = [:]
    /// What rules did to connections.
    package var goAways = 0
    package var silences = 0
    package var mutes = 0
    package var closes = 0
    package var tcpResets = 0
    package var refusedConnections = 0
    package var tlsFailures = 0

    package init() {}
}
