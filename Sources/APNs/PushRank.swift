internal import APNsProtocol

/// In which order the pushes of a lane go, the lower first.
enum PushRank: Int, CaseIterable, Sendable {
    /// Urgent, to a channel: one push reaches all its phones. It overtakes every token, urgent ones too.
    case channel
    case urgent
    case routine

    init(_ batch: PushBatch) {
        switch (batch.urgency, batch.recipients.first?.route) {
        case (.urgent, .broadcast): self = .channel
        case (.urgent, _): self = .urgent
        case (.routine, _): self = .routine
        }
    }
}

/// A number for each rank.
struct PushRankCounts: Equatable, Sendable {
    private var channel = 0
    private var urgent = 0
    private var routine = 0

    var total: Int { channel + urgent + routine }

    subscript(rank: PushRank) -> Int {
        get {
            switch rank {
            case .channel: channel
            case .urgent: urgent
            case .routine: routine
            }
        }
        set {
            switch rank {
            case .channel: channel = newValue
            case .urgent: urgent = newValue
            case .routine: routine = newValue
            }
        }
    }
}
