internal import Core
internal import Store

/// Why nothing comes of a match that was just put, for the answer's warnings, and the way out.
enum MatchStandstill: String, Sendable {
    case ended = "match_ended"
    case postponed = "match_postponed"
    case abandoned = "match_abandoned"
    case kickoffLongPast = "kickoff_long_past"

    /// - Parameters:
    ///   - match: As it stands now.
    ///   - saidStatus: The status that it was put with: who calls a match off knows that it is.
    ///   - now: The service's clock.
    init?(_ match: MatchRecord, saidStatus: MatchStatus?, now: Timestamp) {
        switch match.status {
        case .ended: self = .ended
        case .postponed where match.hasEnded && saidStatus == nil: self = .postponed
        case .abandoned where match.hasEnded && saidStatus == nil: self = .abandoned
        case .scheduled where KickOff.isLongPast(match.kickoffAt, silence: match.silence, now: now):
            self = .kickoffLongPast
        case .scheduled, .live, .postponed, .abandoned: return nil
        }
    }

    var hint: String {
        switch self {
        case .ended:
            "It has ended, and its events are ignored. With \"renew\": true it begins anew, for another season."
        case .postponed, .abandoned:
            "It was called off, and its events are ignored. With \"status\": \"scheduled\" it goes on."
        case .kickoffLongPast:
            "A match of this kick-off would be over, so no channel is made. Put its right kickoff_at, or make one by POST /v1/channels."
        }
    }
}
