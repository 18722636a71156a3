/// Decides when it is said that a match is behind: the facts of each look in, remarks for people out.
///
/// A match is spoken of once it has been behind for ``patience``, again every ``interval`` while it stays so, and once when
/// it has caught up.
package struct BehindWatch<Match: Hashable & Sendable>: Sendable {
    package enum Remark: Equatable, Sendable {
        case behind(Match, since: Moment)
        case caughtUp(Match, after: Duration)
    }

    /// How long a match may be behind unsaid.
    package static var patience: Duration { .seconds(60) }
    /// Between two remarks on a match that stays behind.
    package static var interval: Duration { .seconds(600) }
    /// Of so many matches it is known that they were spoken of; further ones are not spoken of.
    private static var maxSaid: Int { 1_000 }

    private struct Said {
        let since: Moment
        var at: Moment
    }

    private var said: [Match: Said] = [:]

    package init() {}

    /// - Parameters:
    ///   - matches: That are behind, and since when.
    ///   - isComplete: Whether there are no others; else one that is missing may be among those left out.
    ///   - now: The clock by which they are behind.
    /// - Returns: Those behind the longest first, then those that have caught up.
    package mutating func note(_ matches: [Match: Moment], isComplete: Bool, now: Moment) -> [Remark] {
        let late = matches.filter { now - $0.value >= Self.patience }.sorted { $0.value < $1.value }
        var remarks: [Remark] = []
        for (match, since) in late {
            if let last = said[match]?.at, now >= last, now - last < Self.interval { continue }
            guard said[match] != nil || said.count < Self.maxSaid else { continue }
            said[match] = Said(since: min(said[match]?.since ?? since, since), at: now)
            remarks.append(.behind(match, since: since))
        }
        let caughtUp = said.filter { match, _ in
            guard let since = matches[match] else { return isComplete }
            return now - since < Self.patience
        }
        for (match, last) in caughtUp.sorted(by: { $0.value.since < $1.value.since }) {
            said[match] = nil
            remarks.append(.caughtUp(match, after: now - last.since))
        }
        return remarks
    }
}
