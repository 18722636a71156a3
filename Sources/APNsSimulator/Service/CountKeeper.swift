/// The counts as they are kept: without a text a request.
struct CountKeeper: Sendable {
    private var requests = [Int](repeating: 0, count: RequestRoute.Kind.allCases.count + 1)
    private var successes = [Int](repeating: 0, count: 600)  // by status
    private var rejections: [RejectionName: Int] = [:]
    var connections = 0
    var openConnections = 0
    var doubled = 0
    var doubledIDs = 0
    var doubledStamps = 0
    var reordered = 0
    var idsForgotten = 0
    var streamLimitBroken = 0
    var arrived = 0
    var resets: [UInt32: Int] = [:]
    var unanswered = Unanswered()
    var goAways = 0
    var silences = 0
    var mutes = 0
    var closes = 0
    var tcpResets = 0
    var refusedConnections = 0
    var tlsFailures = 0

    /// Requests without an answer, by why.
    struct Unanswered: Equatable, Sendable {
        var goAway = 0
        var silence = 0
        var mute = 0
        var close = 0
        var halfAnswer = 0
        var cancelled = 0

        mutating func add(_ other: Unanswered) {
            goAway += other.goAway
            silence += other.silence
            mute += other.mute
            close += other.close
            halfAnswer += other.halfAnswer
            cancelled += other.cancelled
        }
    }

    private struct RejectionName: Hashable, Sendable {
        let status: Int
        let reason: String
    }

    mutating func count(_ kind: RequestRoute.Kind?, _ count: Int = 1) {
        requests[kind.map { $0.index + 1 } ?? 0] += count
    }

    mutating func countSuccess(_ status: Int, _ count: Int = 1) { successes[status] += count }

    mutating func count(_ rejection: Rejection) {
        rejections[RejectionName(status: rejection.status, reason: rejection.reason), default: 0] += 1
    }

    /// Adds what was counted elsewhere.
    mutating func add(_ other: CountKeeper) {
        for index in requests.indices { requests[index] += other.requests[index] }
        for index in successes.indices { successes[index] += other.successes[index] }
        rejections.merge(other.rejections, uniquingKeysWith: +)
        resets.merge(other.resets, uniquingKeysWith: +)
        unanswered.add(other.unanswered)
        let sums: [WritableKeyPath<CountKeeper, Int>] = [
            \.connections, \.openConnections, \.doubled, \.doubledIDs, \.doubledStamps, \.reordered, \.idsForgotten,
            \.streamLimitBroken, \.arrived, \.goAways, \.silences, \.mutes, \.closes, \.tcpResets, \.refusedConnections,
            \.tlsFailures,
        ]
        for sum in sums { self[keyPath: sum] += other[keyPath: sum] }
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
        counts.reordered = reordered
        counts.idsForgotten = idsForgotten
        counts.streamLimitBroken = streamLimitBroken
        counts.arrived = arrived
        counts.resets = resets
        counts.unanswered = [
            "goaway": unanswered.goAway, "silence": unanswered.silence, "mute": unanswered.mute,
            "close": unanswered.close, "half_answer": unanswered.halfAnswer, "cancelled": unanswered.cancelled,
        ]
        counts.goAways = goAways
        counts.silences = silences
        counts.mutes = mutes
        counts.closes = closes
        counts.tcpResets = tcpResets
        counts.refusedConnections = refusedConnections
        counts.tlsFailures = tlsFailures
        return counts
    }
}
