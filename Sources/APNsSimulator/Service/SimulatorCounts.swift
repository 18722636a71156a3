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
    /// Streams that a client opened over the limit it knew.
    package var streamLimitBroken = 0

    package init() {}
}

/// The counts as they are kept: without a text a request.
struct CountKeeper {
    private var requests = [Int](repeating: 0, count: RequestRoute.Kind.allCases.count + 1)
    private var successes = [Int](repeating: 0, count: 600)  // by status
    private var rejections: [RejectionName: Int] = [:]
    var connections = 0
    var openConnections = 0
    var doubled = 0
    var doubledIDs = 0
    var doubledStamps = 0
    var streamLimitBroken = 0

    private struct RejectionName: Hashable {
        let status: Int
        let reason: String
    }

    mutating func count(_ kind: RequestRoute.Kind?) { requests[kind.map { $0.index + 1 } ?? 0] += 1 }

    mutating func countSuccess(_ status: Int) { successes[status] += 1 }

    mutating func count(_ rejection: Rejection) {
        rejections[RejectionName(status: rejection.status, reason: rejection.reason), default: 0] += 1
    }

    func snapshot(providerTokens: Int) -> SimulatorCounts {
        var counts = SimulatorCounts()
        for kind in RequestRoute.Kind.allCases { counts.requests[kind.rawValue] = requests[kind.index + 1] }
        if requests[0] > 0 { counts.requests["other"] = requests[0] }
        for (status, count) in successes.enumerated() where count > 0 { counts.answers[String(status)] = count }
        for (name, count) in rejections {
            let text = name.reason.isEmpty ? String(name.status) : "\(name.status) \(name.reason)"
            counts.answers[text, default: 0] += count
        }
        counts.connections = connections
        counts.openConnections = openConnections
        counts.providerTokens = providerTokens
        counts.doubled = doubled
        counts.doubledIDs = doubledIDs
        counts.doubledStamps = doubledStamps
        counts.streamLimitBroken = streamLimitBroken
        return counts
    }
}
