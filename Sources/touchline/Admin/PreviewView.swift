internal import Executables

/// What `POST …/preview` answers, for people.
struct PreviewView: Decodable, Sendable {
    struct Push: Decodable, Sendable {
        let target: String
        let environment: String
        let cadence: String
        let event: String
        let versions: [Int]
        let decision: String
        let reason: String?
        let at: String?
        let recipients: Int
        let priority: Int
        let downgraded: Bool
        let alert: Bool
        let method: String
        let path: String
        let headers: [String: String]
        let payload: String
        let size: Int
        let limit: Int
    }

    let match: String
    let event: String
    let status: String
    let version: Int?
    let replayed: Bool
    let warnings: [String]
    let pushes: [Push]

    /// Payloads stand on a line of their own, as long as they are, to be copied.
    var text: String {
        var parts = [headline]
        if !warnings.isEmpty { parts.append(warnings.map { "warning: \($0)" }.joined(separator: "\n")) }
        parts += pushes.enumerated().map { Self.text($1, number: $0 + 1) }
        if status == "accepted", !replayed, pushes.isEmpty {
            parts.append("Nobody would get it: the match has neither a channel nor update tokens.")
        }
        return (parts + ["Nothing was stored, and nothing was sent."]).joined(separator: "\n\n")
    }

    private var headline: String {
        switch status {
        case "accepted" where replayed: "\(match): this event was accepted before; it would change nothing."
        case "accepted": "\(match): accepted, as version \(version ?? 0)"
        case "superseded": "\(match): superseded; it happened before the newest event, and would not be sent."
        default: "\(match): \(status); the match has ended, and phones ignore what comes after that."
        }
    }

    private static func text(_ push: Push, number: Int) -> String {
        let noun = push.target == "channel" ? "channel" : push.recipients == 1 ? "token" : "tokens"
        var rows = [
            ("to", "\(push.recipients) \(noun), \(push.environment), cadence \(push.cadence)"),
            ("what", what(push)), ("when", when(push)),
        ]
        if let first = push.versions.first, let last = push.versions.last, first < last {
            rows.append(("merges", "versions \(first) to \(last - 1), which are not sent any more"))
        }
        let headers = push.headers.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }
        return """
            \(number). \(push.method) \(push.path)
            \(headers.joined(separator: "\n"))

            \(push.payload)

            \(LabelledText.text(rows))
            """
    }

    private static func what(_ push: Push) -> String {
        let alert = push.alert ? ", with the alert" : ""
        let lowered = push.downgraded ? " (the hour's allowance of priority 10 is used up)" : ""
        return "\(push.event), priority \(push.priority)\(lowered)\(alert); \(push.size) of \(push.limit) bytes"
    }

    private static func when(_ push: Push) -> String {
        switch push.decision {
        case "send": push.event == "end" ? "at \(push.at ?? "?"), when its hold is over" : "now"
        case "wait": "at \(push.at ?? "?"): pacing holds it back until then"
        case "paused": "when that is resumed: \(push.reason ?? "it is paused")"
        case "stopped": "when the app goes on: \(push.reason ?? "its work has stopped")"
        case "channel_pending": "when the channel is open\(push.reason.map { ": \($0)" } ?? "")"
        default: push.decision
        }
    }
}
