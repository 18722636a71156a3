internal import APNs
internal import Core
internal import Store

/// How soon pushes followed their events, in this process. A version that pacing held back counts with its wait.
final class EventTimes: Sendable {
    /// By label, from acceptance to the first push and to the last.
    let first: [String: LatencyHistogram]
    let last: [String: LatencyHistogram]

    init() {
        let labels = TargetKind.allCases.flatMap { kind in [true, false].map { Self.label(kind, isUrgent: $0) } }
        first = Dictionary(uniqueKeysWithValues: labels.map { ($0, LatencyHistogram()) })
        last = Dictionary(uniqueKeysWithValues: labels.map { ($0, LatencyHistogram()) })
    }

    /// A finished turn.
    func note(_ turn: TurnRecord, of kind: TargetKind, isUrgent: Bool) {
        let label = Self.label(kind, isUrgent: isUrgent)
        guard let begin = turn.counts.firstPushAt, let end = turn.counts.lastPushAt else { return }
        first[label]?.record(max(.zero, begin - turn.acceptedAt))
        last[label]?.record(max(.zero, end - turn.acceptedAt))
    }

    private static func label(_ kind: TargetKind, isUrgent: Bool) -> String {
        "target=\"\(kind.rawValue)\",importance=\"\(isUrgent ? "key" : "routine")\""
    }
}
