/// The fixtures of a season, and what becomes of each: the same for the same seed.
struct SeasonPlan: Sendable {
    enum Fate: String, Sendable, CaseIterable {
        case played
        /// Called off before its kick-off, and put on again.
        case postponed
        case abandoned
        case deleted
    }

    struct Fixture: Sendable {
        let match: String
        let topics: [String]
        let fate: Fate
        /// Seconds from the moment when kick-offs are brought forward.
        let kickoff: Double
        /// Seconds from kick-off to its end.
        let length: Double
    }

    let fixtures: [Fixture]

    init(_ options: SeasonOptions) {
        var dice = Dice(seed: options.seed, stream: "fixtures")
        // Ten at a time, as a league plays.
        let rounds = max(1, (options.matches + 9) / 10)
        let step = Double(options.seconds) / Double(rounds)
        let first = Double(options.lead) * 0.5
        fixtures = (0..<options.matches).map { number in
            let late = Double(dice.number(in: 0...999)) / 1_000 * step
            let chance = dice.number(in: 0...99)
            let fate: Fate =
                switch chance {
                case 0..<10: .postponed
                case 10..<16: .abandoned
                case 16..<22: .deleted
                default: .played
                }
            let away = (number + 7) % 20
            return Fixture(
                match: "season/\(number + 1)",
                topics: ["competition:season", "team:\(number % 20)", "team:\(away == number % 20 ? 19 : away)"],
                fate: fate,
                kickoff: first + Double(number / 10) * step + late,
                length: Double(dice.number(in: 3...15))
            )
        }
    }

    /// Lines for `touchline match import`.
    ///
    /// - Parameter kickoff: Of each fixture, by its place: RFC 3339.
    /// - Returns: One JSON object a line.
    func lines(_ kickoff: (Int) -> String) -> String {
        fixtures.enumerated().map { index, fixture in
            let topics = fixture.topics.map { "\"\($0)\"" }.joined(separator: ",")
            return #"{"match":"\#(fixture.match)","kickoff_at":"\#(kickoff(index))","topics":[\#(topics)],"#
                + #""content_state":{"home":0,"away":0,"clock":"–"}}"# + "\n"
        }.joined()
    }
}
