/// Dates as HTTP writes them. Source: RFC 9110, 5.6.7.
package enum HTTPDate {
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// Reads `Sun, 06 Nov 1994 08:49:37 GMT`, and the two obsolete forms that a recipient must read as well:
    /// `Sunday, 06-Nov-94 08:49:37 GMT` and `Sun Nov  6 08:49:37 1994`.
    ///
    /// - Returns: UNIX seconds; nil for anything else.
    package static func seconds(_ text: String) -> Int64? {
        let words = text.split { $0 == " " || $0 == "," || $0 == "-" }
        if words.count == 6, words[5] == "GMT" {
            return seconds(day: words[1], month: words[2], year: words[3], time: words[4])
        }
        if words.count == 5 { return seconds(day: words[2], month: words[1], year: words[4], time: words[3]) }
        return nil
    }

    private static func seconds(day: Substring, month: Substring, year: Substring, time: Substring) -> Int64? {
        let clock = time.split(separator: ":", omittingEmptySubsequences: false)
        guard clock.count == 3, let hour = number(clock[0], 0...23), let minute = number(clock[1], 0...59),
            let second = number(clock[2], 0...60), let day = number(day, 1...31),
            let month = months.firstIndex(of: String(month)), var year = number(year, 0...9999)
        else { return nil }
        // Two digits: RFC 9110 takes what seems more than 50 years ahead for the last century.
        if year < 100 { year += year < 70 ? 2000 : 1900 }
        let days = days(year: year, month: Int64(month) + 1, day: day)
        return ((days * 24 + hour) * 60 + minute) * 60 + second
    }

    private static func number(_ text: Substring, _ range: ClosedRange<Int64>) -> Int64? {
        guard text.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }), let number = Int64(text), range.contains(number)
        else { return nil }
        return number
    }

    /// Days since 1 January 1970 in the Gregorian calendar, counting years from March, when leap days come last.
    private static func days(year: Int64, month: Int64, day: Int64) -> Int64 {
        let marchYear = month > 2 ? year : year - 1
        let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
        let leapDays = marchYear / 4 - marchYear / 100 + marchYear / 400
        return marchYear * 365 + leapDays + dayOfYear - 719_468
    }
}
