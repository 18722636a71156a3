internal import Core
internal import Executables

/// What a feed says of one match, in the order of play: the input of `replay` and of `demo`.
struct MatchScript: Equatable, Sendable {
    /// The state before the first event.
    let before: ScoreState
    private(set) var steps: [Step] = []

    /// One event.
    struct Step: Equatable, Sendable {
        enum Kind: String, Sendable { case update, end }
        enum Importance: String, Sendable { case routine, key }

        let kind: Kind
        let importance: Importance
        let state: ScoreState
        let alert: Alert?
        /// What happened, in a word or two: `GOAL Lionel Messi`, `half-time`.
        let note: String
        /// Minutes since kick-off, breaks included: when it happened.
        let elapsedMinutes: Int
    }

    struct Alert: Equatable, Sendable {
        let title: String
        let body: String
    }

    /// The state that phones are left with.
    var final: ScoreState { steps.last?.state ?? before }

    init(before: ScoreState) { self.before = before }

    mutating func add(_ step: Step) { steps.append(step) }

    /// The body of the event at `index`, as `POST /v1/matches/{match}/events` wants it.
    ///
    /// The id is the same in every run, and so is the body: playing a file twice repeats events, and adds none.
    func eventBody(at index: Int) -> JSONOutput {
        let step = steps[index]
        return .members([
            ("id", .string("replay-\(index + 1)")),
            ("kind", .string(step.kind.rawValue)),
            ("sequence", .int(index + 1)),
            ("importance", .string(step.importance.rawValue)),
            ("content_state", step.state.json),
            ("alert", step.alert.map { ["title": .string($0.title), "body": .string($0.body), "sound": "default"] }),
        ])
    }
}
