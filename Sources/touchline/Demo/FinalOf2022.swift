/// The match of the demo: the final of 2022, Argentina–France, 3–3 after extra time, 4–2 on penalties.
enum FinalOf2022 {
    static let match = OpenFootballMatch(
        round: "Final",
        home: "Argentina",
        away: "France",
        score: OpenFootballMatch.Score(ht: [2, 0], ft: [2, 2], et: [3, 3], p: [4, 2]),
        homeGoals: [
            goal("Lionel Messi", 23, isPenalty: true),
            goal("Ángel Di María", 36),
            goal("Lionel Messi", 108),
        ],
        awayGoals: [
            goal("Kylian Mbappé", 80, isPenalty: true),
            goal("Kylian Mbappé", 81),
            goal("Kylian Mbappé", 118, isPenalty: true),
        ]
    )

    /// France began.
    static let kicks: [MatchScriptWriter.Kick] = [
        .init(isHome: false, name: "Kylian Mbappé", isGoal: true),
        .init(isHome: true, name: "Lionel Messi", isGoal: true),
        .init(isHome: false, name: "Kingsley Coman", isGoal: false),
        .init(isHome: true, name: "Paulo Dybala", isGoal: true),
        .init(isHome: false, name: "Aurélien Tchouaméni", isGoal: false),
        .init(isHome: true, name: "Leandro Paredes", isGoal: true),
        .init(isHome: false, name: "Randal Kolo Muani", isGoal: true),
        .init(isHome: true, name: "Gonzalo Montiel", isGoal: true),
    ]

    private static func goal(_ name: String, _ minute: Int, isPenalty: Bool = false) -> OpenFootballMatch.Goal {
        OpenFootballMatch.Goal(name: name, minute: MatchMinute(minute), isPenalty: isPenalty)
    }
}
