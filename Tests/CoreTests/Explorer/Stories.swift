import Core
import Testing

extension PhonesWorld.Budget {
    /// Nothing goes wrong, and nobody registers.
    static let none = Self(registrations: 0, failures: 0, unknown: 0, lost: 0, stays: false)

    /// Reads a budget as `phones 2, registrations 1, rests`; what is not named stays at ``none``.
    init(_ text: String) {
        self = .none
        for part in text.split(separator: ",") {
            let words = part.split(separator: " ")
            let number = words.count > 1 ? Int(words[1]) ?? 0 : 1
            switch words.first {
            case "phones": phones = number
            case "shards": shards = number
            case "registrations": registrations = number
            case "failures": failures = number
            case "unknown": unknown = number
            case "lost": lost = number
            case "expiries": expiries = number
            case "removals": removals = number
            case "withdraws": withdraws = true
            case "exhausts": exhausts = true
            case "dies": dies = true
            case "stays": stays = true
            case "new": isOld = false
            case "late": isLate = true
            case "apart": isApart = true
            case "rests": rests = true
            case "standard": cadence = .standard
            case "frequent": cadence = .frequent
            case let word: preconditionFailure("an unknown budget: \(word ?? "")")
            }
        }
    }
}

/// A story to explore, and how many worlds it has at least: an exploration that shrinks unnoticed proves nothing.
struct Story: CustomTestStringConvertible {
    let letters: String
    let budget: String
    let floor: Int

    init(_ letters: String, _ budget: String, floor: Int = 0) {
        self.letters = letters
        self.budget = budget
        self.floor = floor
    }

    /// Reads `letters: budget`.
    init(_ text: Substring) {
        let parts = text.split(separator: ":", maxSplits: 1)
        self.init(String(parts.first ?? ""), parts.count > 1 ? String(parts[1]) : "")
    }

    var testDescription: String { "\(letters): \(budget)" }

    /// What every run of the tests explores.
    static let short: [Story] = [
        Story("ar", "registrations 1, failures 1, stays", floor: 16_000),
        Story("ar", "registrations 1, unknown 1", floor: 20_000),
        Story("ar", "failures 1, lost 1", floor: 18_000),
        Story("ar", "registrations 1, lost 1", floor: 137_000),
        Story("ra", "new, registrations 2, failures 1", floor: 16_000),
        Story("ar", "phones 2, failures 1, stays", floor: 11_000),
        Story("a", "phones 2, registrations 1, failures 1", floor: 18_000),
        Story("rra", "registrations 1, failures 1", floor: 85_000),
        Story("ae", "registrations 1, failures 1", floor: 8_000),
        Story("aex", "registrations 1", floor: 9_000),
        Story("ark", "withdraws, registrations 1", floor: 19_000),
        Story("ark", "withdraws, failures 1, stays", floor: 2_700),
        Story("ac", "registrations 1, failures 1, expiries 1", floor: 27_000),
        Story("a", "shards 2, removals 1, registrations 1, failures 1", floor: 13_000),
        Story("ra", "removals 1, registrations 1", floor: 14_000),
        Story("ar", "dies, registrations 1, failures 1", floor: 16_000),
        Story("rr", "exhausts, registrations 1, failures 2", floor: 39_000),
        Story("ra", "new, late, registrations 2", floor: 370),
        Story("ax", "registrations 1, rests", floor: 3_000),
        Story("rr", "rests, lost 1", floor: 17_000),
        Story("r", "shards 2, phones 2, apart, rests, lost 1", floor: 36_000),
        Story("rr", "shards 2, phones 2, apart, rests, standard", floor: 24_000),
    ]

    /// What is explored when a rule changes: some three minutes in a build with optimisation.
    static let long: [Story] = [
        Story("ar", "registrations 2, failures 1, stays", floor: 100_000),
        Story("ar", "registrations 1, failures 1, unknown 1, lost 1", floor: 2_700_000),
        Story("ra", "new, registrations 2, failures 1, unknown 1, lost 1", floor: 2_500_000),
        Story("are", "registrations 1, failures 1, unknown 1, stays", floor: 360_000),
        Story("ar", "phones 2, registrations 1, failures 1, stays", floor: 610_000),
        Story("rra", "registrations 2, failures 1", floor: 480_000),
        Story("rar", "registrations 1, failures 1, lost 1", floor: 4_100_000),
        Story("acr", "registrations 1, failures 1, expiries 1", floor: 190_000),
        Story("ark", "withdraws, registrations 1, failures 1, lost 1", floor: 3_500_000),
        Story("r", "shards 2, removals 1, registrations 2, failures 1", floor: 440_000),
        Story("ar", "dies, removals 1, registrations 2, failures 1", floor: 740_000),
        Story("rr", "rests, registrations 1, lost 1", floor: 400_000),
        Story("ar", "shards 2, phones 2, apart, rests, lost 1", floor: 820_000),
    ]
}
