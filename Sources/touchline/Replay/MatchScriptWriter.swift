internal import Executables

/// Writes the script of a match from its goals: sorts them into the order of play, puts the breaks between them.
///
/// When the goals add up to the final score, they are the whole story, whatever the file says of half-time (real files
/// err there). Otherwise goals are missing, and the score at each period's end stands.
struct MatchScriptWriter {
    /// A kick of a shoot-out, where each is known.
    struct Kick: Sendable {
        let isHome: Bool
        let name: String
        let isGoal: Bool
    }

    private struct Goal {
        let isHome: Bool
        let period: MatchPeriod
        let goal: OpenFootballMatch.Goal
    }

    private var script: MatchScript
    private var state: ScoreState
    private var elapsed = 0
    private let match: OpenFootballMatch
    private let score: OpenFootballMatch.Score
    private let goals: [Goal]
    private let hasAllGoals: Bool
    private let kicks: [Kick]

    /// - Returns: The script; nil for a match that has not been played.
    static func script(of match: OpenFootballMatch, kicks: [Kick] = []) -> MatchScript? {
        guard let score = match.score, score.ft != nil || score.et != nil else { return nil }
        var writer = Self(match: match, score: score, kicks: kicks)
        writer.write()
        return writer.script
    }

    private init(match: OpenFootballMatch, score: OpenFootballMatch.Score, kicks: [Kick]) {
        self.match = match
        self.score = score
        self.kicks = kicks
        state = ScoreState(homeName: match.home, awayName: match.away)
        script = MatchScript(before: state)
        let hasExtraTime = score.et != nil
        hasAllGoals = [match.homeGoals.count, match.awayGoals.count] == score.et ?? score.ft
        let all = [(true, match.homeGoals), (false, match.awayGoals)].flatMap { isHome, goals in
            goals.map { Goal(isHome: isHome, period: MatchPeriod(of: $0.minute, hasExtraTime: hasExtraTime), goal: $0) }
        }
        // Equal minutes keep their place: Swift's sort is stable.
        goals = all.sorted { ($0.period, $0.goal.minute) < ($1.period, $1.goal.minute) }
    }

    private mutating func write() {
        play(.firstHalf, phase: .first, until: score.ht)
        pause(clock: "45'", minutes: 15)
        play(.secondHalf, phase: .second, until: score.ft)
        if let afterExtra = score.et {
            pause(clock: "90'", minutes: 5)
            play(.firstExtra, phase: .extra, until: nil)
            pause(clock: "105'", minutes: 1)
            play(.secondExtra, phase: .extra, until: afterExtra)
        }
        if let total = pair(score.p) { shootOut(total) }
        finish()
    }

    private mutating func play(_ period: MatchPeriod, phase: ScoreState.Phase, until end: [Int]?) {
        state.phase = phase
        state.clock = "\(period.firstMinute)'"
        add(.key, phase == .extra ? "extra time" : "\(phase.rawValue) half")
        let start = elapsed
        func elapsedAt(_ minute: Int) -> Int { start + max(0, minute - period.firstMinute) }

        let ticks = stride(from: period.firstMinute + 14, to: period.lastMinute, by: 15)
            .map { (minute: MatchMinute($0), goal: Goal?.none) }
        let scored = goals.filter { $0.period == period }.map { (minute: $0.goal.minute, goal: Optional($0)) }
        for (minute, goal) in (ticks + scored).sorted(by: { $0.minute < $1.minute }) {
            elapsed = max(elapsed, elapsedAt(minute.minute + minute.added))
            state.clock = minute.text
            if let goal { count(goal, atMost: pair(end ?? score.et ?? score.ft)) } else { add(.routine) }
        }
        elapsed = max(elapsed, elapsedAt(period.lastMinute))
        if !hasAllGoals, let end = pair(end) { (state.home, state.away) = end }
    }

    /// A goal that the score at the period's end does not know is left out, unless the goals are the whole story.
    private mutating func count(_ goal: Goal, atMost end: (home: Int, away: Int)?) {
        let home = state.home + (goal.isHome ? 1 : 0)
        let away = state.away + (goal.isHome ? 0 : 1)
        if !hasAllGoals, let end, home > end.home || away > end.away { return }
        (state.home, state.away) = (home, away)
        let suffix = goal.goal.isOwnGoal ? " (o.g.)" : goal.goal.isPenalty ? " (pen.)" : ""
        state.scorer = goal.goal.name + suffix
        add(
            .key,
            "GOAL \(goal.goal.name)\(suffix)",
            alert: MatchScript.Alert(
                title: "Goal! \(match.home) \(home)–\(away) \(match.away)",
                body: "\(goal.goal.name), \(goal.goal.minute.text)\(suffix)"
            )
        )
    }

    private mutating func pause(clock: String, minutes: Int) {
        state.phase = .break
        state.clock = clock
        add(.key, "break")
        elapsed += minutes
    }

    private mutating func shootOut(_ total: (home: Int, away: Int)) {
        elapsed += 5
        state.phase = .shootout
        state.clock = "pens"
        add(.key, "shoot-out")
        for kick in kicks {
            elapsed += 1
            state.homePenalties = (state.homePenalties ?? 0) + (kick.isHome && kick.isGoal ? 1 : 0)
            state.awayPenalties = (state.awayPenalties ?? 0) + (!kick.isHome && kick.isGoal ? 1 : 0)
            state.scorer = kick.isGoal ? kick.name : state.scorer
            add(.key, "\(kick.name) \(kick.isGoal ? "scores" : "misses")")
        }
        (state.homePenalties, state.awayPenalties) = total
    }

    private mutating func finish() {
        state.phase = .full
        state.clock = score.et == nil ? "90'" : "120'"
        let alert = MatchScript.Alert(title: "Full time", body: "\(match.home) \(state.score) \(match.away)")
        add(.key, "full time", kind: .end, alert: alert)
    }

    private mutating func add(
        _ importance: MatchScript.Step.Importance,
        _ note: String = "",
        kind: MatchScript.Step.Kind = .update,
        alert: MatchScript.Alert? = nil
    ) {
        script.add(
            .init(kind: kind, importance: importance, state: state, alert: alert, note: note, elapsedMinutes: elapsed)
        )
    }

    private func pair(_ numbers: [Int]?) -> (home: Int, away: Int)? {
        guard let numbers, numbers.count == 2 else { return nil }
        return (numbers[0], numbers[1])
    }
}
