internal import Core
internal import Executables

/// The content state that `replay` and `demo` send: what the type `ScoreAttributes` shows.
struct ScoreState: Equatable, Sendable {
    enum Phase: String, CaseIterable, Sendable {
        case scheduled, first, `break`, second, extra, shootout, full
    }

    var home: Int
    var away: Int
    let homeName: String
    let awayName: String
    /// What the scoreboard's clock reads: `90+9'`; empty before kick-off.
    var clock: String
    var phase: Phase
    /// Who scored last.
    var scorer: String?
    /// Goals of a shoot-out, once there are any to tell.
    var homePenalties: Int?
    var awayPenalties: Int?

    /// The state before kick-off.
    init(homeName: String, awayName: String) {
        home = 0
        away = 0
        self.homeName = homeName
        self.awayName = awayName
        clock = ""
        phase = .scheduled
    }

    /// The contract of this content state, as `PUT /v1/apps/{bundle}/types/{type}` wants it.
    static let contract: JSONOutput = [
        "home": "int", "away": "int", "home_name": "string", "away_name": "string", "clock": "string",
        "phase": ["enum": .array(Phase.allCases.map { .string($0.rawValue) })],
        "scorer": "string?", "home_penalties": "int?", "away_penalties": "int?",
    ]

    /// As JSON; what is not known is left out.
    var json: JSONOutput {
        .members([
            ("home", .int(home)), ("away", .int(away)),
            ("home_name", .string(homeName)), ("away_name", .string(awayName)),
            ("clock", .string(clock)), ("phase", .string(phase.rawValue)),
            ("scorer", scorer.map { .string($0) }),
            ("home_penalties", homePenalties.map { .int($0) }), ("away_penalties", awayPenalties.map { .int($0) }),
        ])
    }

    /// `3–3 (4–2 pens)`.
    var score: String {
        guard let homePenalties, let awayPenalties else { return "\(home)–\(away)" }
        return "\(home)–\(away) (\(homePenalties)–\(awayPenalties) pens)"
    }
}
