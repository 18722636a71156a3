internal import Core
internal import HTTP2
internal import Store

/// What the store made of an event, in the API's words.
struct EventVerdict: Sendable {
    let status: String
    let version: Int64?
    let isReplayed: Bool
    /// Of the order and the alert; what the match and its app warn of comes before.
    let warnings: [String]
    /// Why it is not sent, and beside which event.
    let reason: [(String, JSONOutput)]
    let problem: Problem?

    init(_ outcome: EventOutcome, of event: FeedEvent) {
        switch outcome.answer {
        case .accepted(let version, let replayed): self.init("accepted", version, replayed, outcome)
        case .superseded(let version, let replayed):
            let newest: JSONOutput = [
                "sequence": .number(outcome.newest.sequence), "occurred_at": .time(outcome.newest.occurredAt),
            ]
            let reason: [(String, JSONOutput)] =
                if case .superseded(let key) = EventOrder.verdict(event, after: outcome.newest) {
                    [("reason", .string(key.rawValue)), ("newest", newest)]
                } else {
                    // A repetition of one that was superseded, since the order began anew.
                    [("newest", newest)]
                }
            self.init("superseded", version, replayed, outcome, reason)
        case .ignored(let version, let replayed):
            self.init("ignored", version, replayed, outcome, [("reason", "match_ended")])
        case .conflict:
            self.init(
                Problem(
                    .eventConflict,
                    "this id was used before with another body",
                    field: "id",
                    hint: "Give each event an id of its own, and the same values whenever it is sent again."
                )
            )
        case .matchNotFound:
            self.init(API.noSuchMatch)
        }
    }

    private init(
        _ status: String,
        _ version: Int64,
        _ isReplayed: Bool,
        _ outcome: EventOutcome,
        _ reason: [(String, JSONOutput)] = []
    ) {
        self.status = status
        self.version = version
        self.isReplayed = isReplayed
        self.reason = reason
        warnings = outcome.warnings
        problem = nil
    }

    private init(_ problem: Problem) {
        status = "refused"
        version = nil
        isReplayed = false
        warnings = []
        reason = []
        self.problem = problem
    }

    /// Whether the dispatcher has something to do.
    var isDue: Bool { status == "accepted" && !isReplayed }

    func response(match: MatchID, event: EventID, warnings: [String]) -> HTTPResponse {
        let members: [(String, JSONOutput)] = [
            ("status", .string(status)), ("match", .string(match.text)), ("event", .string(event.text)),
            ("version", .number(version)), ("warnings", .array((warnings + self.warnings).map { .string($0) })),
        ]
        var response = HTTPResponse.json(status == "accepted" ? 202 : 200, .object(members + reason))
        if isReplayed { response.fields.set("idempotent-replayed", "true") }
        return response
    }
}
