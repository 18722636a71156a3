internal import APNsProtocol

/// In which order the pushes of a lane go, the lower first.
enum PushRank: Int, CaseIterable, Sendable {
    /// Urgent, to a channel: one push reaches all its phones. It overtakes every token, urgent ones too.
    case channel
    /// Must not be sent twice. Few of these are under way on a connection at a time, so they hold up nobody.
    case once
    case urgent
    case routine

    init(_ batch: PushBatch) {
        switch (batch.urgency, batch.recipients.first?.route) {
        case (.urgent, .broadcast): self = .channel
        case _ where batch.isOnce: self = .once
        case (.urgent, _): self = .urgent
        case (.routine, _): self = .routine
        }
    }
}

/// A number for each rank.
struct PushRankCounts: Equatable, Sendable {
    private var channel = 0
    private var once = 0
    private var urgent = 0
    private var routine = 0

    var total: Int { channel + once + urgent + routine }

    subscript(rank: PushRank) -> Int {
        get {
            switch rank {
            case .channel: channel
            case .once: once
            case .urgent: urgent
            case .routine: routine
            }
        }
        set {
            switch rank {
            case .channel: channel = newValue
            case .once: once = newValue
            case .urgent: urgent = newValue
            case .routine: routine = newValue
            }
        }
    }
}
