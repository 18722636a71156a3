/// A moment as people and the API write it: microseconds since 1970-01-01T00:00:00Z, RFC 3339 as text.
package struct Timestamp: Hashable, Comparable, Sendable {
    package let microseconds: Int64

    package init(microseconds: Int64) { self.microseconds = microseconds }
    package init(seconds: Int64) { microseconds = seconds * 1_000_000 }

    package static func < (left: Timestamp, right: Timestamp) -> Bool { left.microseconds < right.microseconds }

    package static func + (left: Timestamp, right: Duration) -> Timestamp {
        let (seconds, attoseconds) = right.components
        return Timestamp(microseconds: left.microseconds + seconds * 1_000_000 + attoseconds / 1_000_000_000_000)
    }

    package static func - (left: Timestamp, right: Timestamp) -> Duration {
        .microseconds(left.microseconds - right.microseconds)
    }
}

extension Timestamp: CustomStringConvertible {
    /// Reads RFC 3339 with any offset and up to nine digits of a fraction, of which six count.
    ///
    /// A leap second (`:60`) is the first moment of the next minute. Years from 0001 to 9999.
    package init?(_ text: some StringProtocol) {
        var reader = DigitReader(Array(text.utf8))
        guard let year = reader.digits(4), reader.take("-"), let month = reader.digits(2), reader.take("-"),
            let day = reader.digits(2), reader.take("T") || reader.take("t") || reader.take(" "),
            let hour = reader.digits(2), reader.take(":"), let minute = reader.digits(2), reader.take(":"),
            let second = reader.digits(2)
        else { return nil }
        guard year >= 1, (1...12).contains(month), (1...CivilDate.days(inMonth: month, of: year)).contains(day),
            hour <= 23, minute <= 59, second <= 60
        else { return nil }
        var fraction: Int64 = 0
        if reader.take(".") {
            guard let digits = reader.fraction() else { return nil }
            fraction = digits
        }
        guard let offset = reader.offset(), reader.isAtEnd else { return nil }
        let days = CivilDate(year: year, month: month, day: day).daysSince1970
        let seconds = days * 86_400 + hour * 3_600 + minute * 60 + second - offset
        microseconds = seconds * 1_000_000 + fraction
    }

    /// RFC 3339 in UTC, with a fraction only where there is one: `2026-07-19T20:46:03Z`.
    package var description: String {
        let (days, inDay) = microseconds.flooredDivision(by: 86_400_000_000)
        let date = CivilDate(daysSince1970: days)
        var text = "\(date)T\(padded(inDay / 3_600_000_000)):\(padded(inDay / 60_000_000 % 60))"
        text += ":\(padded(inDay / 1_000_000 % 60))"
        let fraction = inDay % 1_000_000
        if fraction != 0 {
            var digits = String(fraction)
            digits = String(repeating: "0", count: 6 - digits.utf8.count) + digits
            while digits.utf8.last == UInt8(ascii: "0") { digits.removeLast() }
            text += "." + digits
        }
        return text + "Z"
    }
}

/// Takes ASCII digits and signs off the front of a text.
private struct DigitReader {
    private let bytes: [UInt8]
    private var place = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var isAtEnd: Bool { place == bytes.count }

    mutating func take(_ sign: Unicode.Scalar) -> Bool {
        guard place < bytes.count, bytes[place] == UInt8(ascii: sign) else { return false }
        place += 1
        return true
    }

    mutating func digits(_ count: Int) -> Int64? {
        guard place + count <= bytes.count else { return nil }
        var value: Int64 = 0
        for byte in bytes[place..<(place + count)] {
            guard byte >= 0x30 && byte <= 0x39 else { return nil }
            value = value * 10 + Int64(byte - 0x30)
        }
        place += count
        return value
    }

    /// One to nine digits, as microseconds.
    mutating func fraction() -> Int64? {
        var value: Int64 = 0
        var count = 0
        while let digit = digits(1) {
            count += 1
            guard count <= 9 else { return nil }
            if count <= 6 { value = value * 10 + digit }
        }
        guard count > 0 else { return nil }
        for _ in 0..<max(0, 6 - count) { value *= 10 }
        return value
    }

    /// `Z` or `±hh:mm`, in seconds east of UTC.
    mutating func offset() -> Int64? {
        if take("Z") || take("z") { return 0 }
        let isWest: Bool
        if take("+") {
            isWest = false
        } else if take("-") {
            isWest = true
        } else {
            return nil
        }
        guard let hours = digits(2), take(":"), let minutes = digits(2), hours <= 23, minutes <= 59 else { return nil }
        let seconds = hours * 3_600 + minutes * 60
        return isWest ? -seconds : seconds
    }
}
