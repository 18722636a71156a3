/// A `timestamptz`: microseconds since 1970-01-01T00:00:00Z, as exact as PostgreSQL keeps it.
///
/// `infinity` and `-infinity` read as the largest and the smallest value.
package struct PGTimestamp: Hashable, Comparable, Sendable {
    package var unixMicroseconds: Int64

    package init(unixMicroseconds: Int64) { self.unixMicroseconds = unixMicroseconds }

    package init(unixMilliseconds: Int64) { unixMicroseconds = unixMilliseconds * 1_000 }

    package init(unixSeconds: Int64) { unixMicroseconds = unixSeconds * 1_000_000 }

    /// Rounded down, before 1970 too.
    package var unixMilliseconds: Int64 { floorDivision(unixMicroseconds, 1_000) }

    /// Rounded down, before 1970 too.
    package var unixSeconds: Int64 { floorDivision(unixMicroseconds, 1_000_000) }

    package static func < (left: PGTimestamp, right: PGTimestamp) -> Bool {
        left.unixMicroseconds < right.unixMicroseconds
    }

    package static func + (left: PGTimestamp, right: Duration) -> PGTimestamp {
        let (seconds, attoseconds) = right.components
        return PGTimestamp(
            unixMicroseconds: left.unixMicroseconds + seconds * 1_000_000 + attoseconds / 1_000_000_000_000
        )
    }

    package static func - (left: PGTimestamp, right: PGTimestamp) -> Duration {
        .microseconds(left.unixMicroseconds - right.unixMicroseconds)
    }
}

extension PGTimestamp {
    /// Reads PostgreSQL's ISO output in the session's time zone UTC: `2026-07-19 20:46:03.25+00`, also with `BC`.
    init?(postgreSQL text: String) {
        switch text {
        case "infinity": self.init(unixMicroseconds: .max)
        case "-infinity": self.init(unixMicroseconds: .min)
        default:
            var reader = DigitReader(text)
            guard
                var year = reader.number(), reader.take(UInt8(ascii: "-")),
                let month = reader.number(), reader.take(UInt8(ascii: "-")),
                let day = reader.number(), reader.take(UInt8(ascii: " ")),
                let hour = reader.number(), reader.take(UInt8(ascii: ":")),
                let minute = reader.number(), reader.take(UInt8(ascii: ":")),
                let second = reader.number()
            else { return nil }
            let fraction = reader.take(UInt8(ascii: ".")) ? reader.microseconds() : 0
            if text.hasSuffix("BC") { year = 1 - year }
            let seconds = daysSince1970(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second
            self.init(unixMicroseconds: seconds * 1_000_000 + fraction)
        }
    }

    /// As PostgreSQL reads it back exactly: `2026-07-19 20:46:03.250000+00`.
    var postgreSQL: String {
        if unixMicroseconds == .max { return "infinity" }
        if unixMicroseconds == .min { return "-infinity" }
        let days = floorDivision(unixMicroseconds, 86_400_000_000)
        let inDay = unixMicroseconds - days * 86_400_000_000
        let (year, month, day) = civil(fromDaysSince1970: days)
        let clock =
            "\(padded(inDay / 3_600_000_000, 2)):\(padded(inDay / 60_000_000 % 60, 2))"
            + ":\(padded(inDay / 1_000_000 % 60, 2)).\(padded(inDay % 1_000_000, 6))+00"
        let date = "\(padded(year > 0 ? year : 1 - year, 4))-\(padded(month, 2))-\(padded(day, 2))"
        return "\(date) \(clock)\(year > 0 ? "" : " BC")"
    }
}

/// Reads runs of digits from ASCII text.
private struct DigitReader {
    private var rest: Substring.UTF8View

    init(_ text: String) { rest = Substring(text).utf8 }

    mutating func number() -> Int64? {
        var value: Int64?
        while let byte = rest.first, byte >= 48, byte <= 57 {
            value = (value ?? 0) * 10 + Int64(byte - 48)
            rest.removeFirst()
        }
        return value
    }

    mutating func take(_ byte: UInt8) -> Bool {
        guard rest.first == byte else { return false }
        rest.removeFirst()
        return true
    }

    /// A fraction's digits, at most six, as microseconds.
    mutating func microseconds() -> Int64 {
        var value: Int64 = 0
        for _ in 0..<6 {
            value *= 10
            if let byte = rest.first, byte >= 48, byte <= 57 {
                value += Int64(byte - 48)
                rest.removeFirst()
            }
        }
        return value
    }
}

private func floorDivision(_ value: Int64, _ divisor: Int64) -> Int64 {
    let quotient = value / divisor
    return value % divisor < 0 ? quotient - 1 : quotient
}

private func padded(_ value: Int64, _ width: Int) -> String {
    let digits = String(value)
    return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
}

/// Days of the proleptic Gregorian calendar. Source: H. Hinnant, "chrono-Compatible Low-Level Date Algorithms".
private func daysSince1970(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
    let shifted = month <= 2 ? year - 1 : year
    let era = floorDivision(shifted, 400)
    let yearOfEra = shifted - era * 400
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
}

/// The inverse of ``daysSince1970(_:_:_:)``.
private func civil(fromDaysSince1970 days: Int64) -> (year: Int64, month: Int64, day: Int64) {
    let shifted = days + 719_468
    let era = floorDivision(shifted, 146_097)
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shiftedMonth = (5 * dayOfYear + 2) / 153
    let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
    let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    return (year, month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
}
