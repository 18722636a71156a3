/// A day of the proleptic Gregorian calendar. Source: H. Hinnant, "chrono-Compatible Low-Level Date Algorithms".
package struct CivilDate: Hashable, Sendable, CustomStringConvertible {
    package let year: Int64
    package let month: Int64
    package let day: Int64

    package init(year: Int64, month: Int64, day: Int64) {
        self.year = year
        self.month = month
        self.day = day
    }

    package init(daysSince1970 days: Int64) {
        let (era, dayOfEra) = (days + 719_468).flooredDivision(by: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shifted = (5 * dayOfYear + 2) / 153
        month = shifted < 10 ? shifted + 3 : shifted - 9
        day = dayOfYear - (153 * shifted + 2) / 5 + 1
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    }

    package var daysSince1970: Int64 {
        let shiftedYear = month <= 2 ? year - 1 : year
        let (era, yearOfEra) = shiftedYear.flooredDivision(by: 400)
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    package static func days(inMonth month: Int64, of year: Int64) -> Int64 {
        switch month {
        case 4, 6, 9, 11: 30
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        default: 31
        }
    }

    package var description: String {
        let digits = String(year)
        let zeros = String(repeating: "0", count: max(0, 4 - digits.utf8.count))
        return "\(zeros)\(digits)-\(padded(month))-\(padded(day))"
    }
}

extension Int64 {
    /// Quotient rounded down, and the remainder from zero up.
    func flooredDivision(by divisor: Int64) -> (quotient: Int64, remainder: Int64) {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}

/// Two digits.
func padded(_ value: Int64) -> String { value < 10 ? "0\(value)" : String(value) }
