/// What a match's kick-off may be, and what follows from one that is past.
package enum KickOff {
    /// From 2000 to 2199. Outside of that lie times that nobody set: the years 1, 1970, 4001 and 9999.
    package static let range = Timestamp(seconds: 946_684_800)..<Timestamp(seconds: 7_258_118_400)

    /// - Throws: `invalid_field` for a time that no match can begin at.
    package static func checked(_ time: Timestamp, field: String) throws(Problem) -> Timestamp {
        guard range.contains(time) else {
            throw Problem(
                .invalidField,
                "\(field) is \(time), not between \(range.lowerBound) and \(range.upperBound)",
                field: field,
                hint: "A time that was never set is written so. Say when the match begins, like 2026-07-19T19:00:00Z."
            )
        }
        return time
    }

    /// Whether a match of this kick-off would have ended by itself by now, had no event come: it gets no channel.
    package static func isLongPast(_ kickoff: Timestamp, silence: Duration, now: Timestamp) -> Bool {
        kickoff <= now - silence
    }
}

extension Timestamp {
    fileprivate static func - (left: Timestamp, right: Duration) -> Timestamp { left + (.zero - right) }
}
