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
    static let contract: String = JSONText.object([
        ("home", JSONText.string("int")), ("away", JSONText.string("int")),
        ("home_name", JSONText.string("string")), ("away_name", JSONText.string("string")),
        ("clock", JSONText.string("string")),
        ("phase", JSONText.object([("enum", JSONText.array(Phase.allCases.map { JSONText.string($0.rawValue) }))])),
        ("scorer", JSONText.string("string?")),
        ("home_penalties", JSONText.string("int?")), ("away_penalties", JSONText.string("int?")),
    ])

    /// As JSON; what is not known is left out.
    var json: String {
        var members = [
            ("home", "\(home)"), ("away", "\(away)"),
            ("home_name", JSONText.string(homeName)), ("away_name", JSONText.string(awayName)),
            ("clock", JSONText.string(clock)), ("phase", JSONText.string(phase.rawValue)),
        ]
        if let scorer { members.append(("scorer", JSONText.string(scorer))) }
        if let homePenalties { members.append(("home_penalties", "\(homePenalties)")) }
        if let awayPenalties { members.append(("away_penalties", "\(awayPenalties)")) }
        return JSONText.object(members)
    }

    /// `3–3 (4–2 pens)`.
    var score: String {
        guard let homePenalties, let awayPenalties else { return "\(home)–\(away)" }
        return "\(home)–\(away) (\(homePenalties)–\(awayPenalties) pens)"
    }
}
