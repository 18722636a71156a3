/// How Swift's `JSONDecoder` reads a `Date`: seconds since 2001-01-01T00:00:00Z.
enum ReferenceDate {
    /// UNIX seconds of its beginning.
    static let unixSeconds: Int64 = 978_307_200

    /// What a number seems to be instead: today's UNIX seconds, read as seconds since 2001, lie beyond 2050, while
    /// nothing that a match has to tell lies beyond 2039.
    static func unitThatWasMeant(by seconds: Double) -> String? {
        switch seconds {
        case ..<1_200_000_000: nil
        case ..<100_000_000_000: "UNIX seconds"
        case ..<100_000_000_000_000: "milliseconds"
        case ..<100_000_000_000_000_000: "microseconds"
        default: "nanoseconds"
        }
    }

    /// The year that a phone would show, or something like it beyond any calendar.
    static func year(of seconds: Double) -> String {
        let days = (seconds + Double(unixSeconds)) / 86_400
        guard let whole = Int64(exactly: days.rounded(.down)), abs(whole) < 1_000_000_000_000_000 else {
            return "of a date beyond all calendars"
        }
        return String(CivilDate(daysSince1970: whole).year)
    }

    /// The number for a moment, exact to its microseconds.
    static func seconds(of time: Timestamp) -> String {
        let shifted = time.microseconds - unixSeconds * 1_000_000
        let (seconds, microseconds) = shifted.magnitude.quotientAndRemainder(dividingBy: 1_000_000)
        var text = (shifted < 0 ? "-" : "") + String(seconds)
        guard microseconds > 0 else { return text }
        var digits = String(microseconds)
        digits = String(repeating: "0", count: 6 - digits.utf8.count) + digits
        while digits.hasSuffix("0") { digits.removeLast() }
        text += "." + digits
        return text
    }
}
