internal import Core
internal import Executables

/// What an event's answer means where phones will see nothing of it.
enum EventRemark {
    /// A sentence about an event that was taken; nil: there is nothing to say.
    ///
    /// Throws a ``Failure`` where nothing is sent for the event: it happened before the newest one, or after the end.
    static func text(_ answer: APIClient.Answer) throws(Failure) -> String? {
        guard let body = try? JSONScanner.decode(answer.body), let status = text("status", of: body) else { return nil }
        switch status {
        case "accepted" where answer.isReplayed:
            return "This event was there already, with the same values: nothing is sent again. "
                + "A new one needs an id of its own."
        case "accepted":
            let remarks = warnings(of: body).compactMap { meanings[$0] }
            return remarks.isEmpty ? nil : remarks.joined(separator: "\n")
        case "superseded": throw superseded(body)
        case "ignored":
            throw Failure(
                .failed,
                "the match has ended, and phones ignore what comes after that: nothing is sent",
                hint: "Another season begins with `touchline match create … --renew`, or `match import … --renew`."
            )
        default: return nil
        }
    }

    private static let meanings = [
        "sequence_restarted": "The feed counts anew: the order of its events begins with this one.",
        "duplicate_alert":
            "The same alert with the same state is out already: nobody is alerted a second time.",
    ]

    private static func superseded(_ body: JSONValue) -> Failure {
        let match = text("match", of: body) ?? "MATCH"
        let newest = body.member("newest")
        guard text("reason", of: body) == "sequence", case .number(let sequence)? = newest?.member("sequence")?.content
        else {
            let time = newest.flatMap { text("occurred_at", of: $0) }.map { " (\($0))" } ?? ""
            return Failure(
                .failed,
                "it happened before the newest event\(time), so it is not sent: phones keep what they show"
            )
        }
        return Failure(
            .failed,
            "its sequence is lower than the newest event's, \(sequence), so it is not sent: phones keep what they show",
            hint: "A feed that counts anew is recognised by a later occurred_at, or told: "
                + "touchline match reset-order \(match)"
        )
    }

    private static func warnings(of body: JSONValue) -> [String] {
        guard case .array(let items)? = body.member("warnings")?.content else { return [] }
        return items.compactMap { if case .string(let text) = $0.content { text } else { nil } }
    }

    private static func text(_ name: String, of body: JSONValue) -> String? {
        if case .string(let text)? = body.member(name)?.content { text } else { nil }
    }
}
