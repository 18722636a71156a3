/// When something happened, as a scoreboard shows it: `90+9'`.
struct MatchMinute: Equatable, Comparable, Sendable {
    /// The minute of play, from 1; not above the last of its period.
    let minute: Int
    /// Minutes of added time, 0 when there were none.
    let added: Int

    init(_ minute: Int, added: Int = 0) {
        self.minute = minute
        self.added = added
    }

    /// Reads `23`, `90+9`, `45 + 2'`; nil for anything else.
    init?(_ text: String) {
        let parts = text.filter { !$0.isWhitespace && $0 != "'" && $0 != "’" }
            .split(separator: "+", omittingEmptySubsequences: false)
        guard parts.count <= 2, let minute = parts.first.flatMap({ Int($0) }), minute >= 0 else { return nil }
        guard parts.count == 2 else {
            self.init(minute)
            return
        }
        guard let added = Int(parts[1]), added >= 0 else { return nil }
        self.init(minute, added: added)
    }

    var text: String { added > 0 ? "\(minute)+\(added)'" : "\(minute)'" }

    /// 45+2 lies before 46: added time belongs to its half. Order across halves is ``MatchPeriod``'s.
    static func < (left: Self, right: Self) -> Bool { (left.minute, left.added) < (right.minute, right.added) }
}

/// A part of a match that is played without a break.
enum MatchPeriod: Int, CaseIterable, Comparable, Sendable {
    case firstHalf, secondHalf, firstExtra, secondExtra

    /// The last minute before added time.
    var lastMinute: Int { [45, 90, 105, 120][rawValue] }

    /// The minute that it begins with.
    var firstMinute: Int { [1, 46, 91, 106][rawValue] }

    /// The period that a minute falls in. Without extra time everything behind 45' is the second half, so that a file
    /// that counts on (`94`) is read as what it means.
    init(of minute: MatchMinute, hasExtraTime: Bool) {
        switch minute.minute {
        case ...45: self = .firstHalf
        case ...90: self = .secondHalf
        case _ where !hasExtraTime: self = .secondHalf
        case ...105: self = .firstExtra
        default: self = .secondExtra
        }
    }

    static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}
