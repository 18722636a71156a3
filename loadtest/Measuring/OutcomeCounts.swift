import APNs
import APNsProtocol

/// Outcomes by name.
struct OutcomeCounts: Sendable, Equatable {
    private(set) var accepted = 0
    private(set) var others: [String: Int] = [:]

    static let accepted = "accepted"
    static let unknown = "unknown"
    static let notProcessed = "not processed"

    var total: Int { others.values.reduce(accepted, +) }

    var byName: [String: Int] { others.merging(accepted > 0 ? [Self.accepted: accepted] : [:]) { $1 } }

    mutating func add(_ outcomes: [Outcome]) {
        for outcome in outcomes {
            if case .accepted = outcome { accepted += 1 } else { others[Self.name(outcome), default: 0] += 1 }
        }
    }

    mutating func add(_ counts: OutcomeCounts) {
        accepted += counts.accepted
        for (name, count) in counts.others { others[name, default: 0] += count }
    }

    /// What an answer of the simulator's should have become here; its counts name a status, and the reason where there was
    /// one: `410 Unregistered`.
    static func name(ofAnswer answer: String) -> String {
        let parts = answer.split(separator: " ", maxSplits: 1)
        let reason = parts.count > 1 ? Array(#"{"reason":"\#(parts[1])"}"#.utf8) : []
        return name(Outcome(status: parts.first.flatMap { Int($0) } ?? 0, body: reason))
    }

    private static func name(_ outcome: Outcome) -> String {
        switch outcome {
        case .accepted: Self.accepted
        case .tokenDead: "token dead"
        case .tokenRefused(let reason): "token refused \(reason.rawValue)"
        case .channelGone(let reason): "channel gone \(reason.rawValue)"
        case .broadcastNotEnabled: "broadcast not enabled"
        case .providerTokenExpired: "provider token expired"
        case .tooManyProviderTokenUpdates: "too many provider token updates"
        case .configuration(let reason): "configuration \(reason.rawValue)"
        case .tooLarge: "too large"
        case .later(_, let reason): reason.rawValue.isEmpty ? "later" : "later \(reason.rawValue)"
        case .notProcessed: Self.notProcessed
        case .unknown: Self.unknown
        case .refused(let status, let reason): "refused \(status) \(reason)"
        }
    }
}
