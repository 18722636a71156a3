internal import APNsProtocol
internal import Core
internal import HTTP2
internal import Server

/// A push by hand and its answer, as they are printed. The provider token is never part of it.
struct PushView: Sendable {
    let push: HandPush
    let key: SigningKey
    let host: Settings.HostPort
    let id: APNsID

    /// All but `authorization`.
    var fields: [(name: String, value: String)] {
        push.headers.fields(route: push.route, id: id) + [("content-type", "application/json")]
    }

    /// The request, with its exact body and its sizes.
    var request: String {
        let body = push.composer.compose()
        let token = "authorization: bearer (signed for team \(key.team.text) with key \(key.keyID.text); not shown)"
        return """
            \(push.route.method) https://\(host)\(push.route.path)
            \(token)
            \(fields.map { "\($0.name): \($0.value)" }.joined(separator: "\n"))

            \(String(decoding: body, as: UTF8.self))

            \(body.count) of \(push.route.payloadLimitBytes) bytes; activity data \(push.activityDataBytes) of \
            \(PushLimits.activityDataBytes)
            """
    }

    /// The answer, and what it means.
    func answer(_ answer: APNsExchange.Answer) -> String {
        let milliseconds = answer.duration.wholeMilliseconds
        var lines = ["\(answer.response.status) after \(milliseconds) ms"]
        for (name, value) in answer.response.fields.pairs where name.hasPrefix("apns-") || name == "retry-after" {
            lines.append("\(name): \(value)")
        }
        if !answer.response.body.isEmpty { lines.append(String(decoding: answer.response.body, as: UTF8.self)) }
        return lines.joined(separator: "\n") + "\n\n" + LabelledText.text(meaning(answer.response))
    }

    private func meaning(_ response: HTTPResponse) -> [(label: String, text: String)] {
        if response.status == 200 {
            return [
                ("accepted", "APNs has taken it. That is no proof that a phone changed: nobody reports that."),
                ("if nothing changes", Trouble.unchanged.place),
            ]
        }
        let answer = ErrorAnswer(response.body)
        var rows: [(label: String, text: String)]
        if let guide = ReasonGuide(answer.reason) {
            rows = Explanation.meaning(of: guide)
        } else {
            rows = [("unknown reason", "APNs says “\(answer.reason)”; it is new, and goes by its status.")]
        }
        if let milliseconds = answer.timestamp {
            rows.insert(("dead since", Timestamp(microseconds: milliseconds * 1_000).description), at: 1)
        }
        return rows
    }

    /// For programs; without an answer, as of a dry run.
    func json(_ answer: APNsExchange.Answer?) -> JSONOutput {
        let body = push.composer.compose()
        var members: [(String, JSONOutput)] = [
            (
                "request",
                .object([
                    ("method", .string(push.route.method)), ("host", .string(host.description)),
                    ("path", .string(push.route.path)),
                    ("headers", .object(fields.map { ($0.name, .string($0.value)) })),
                    ("body", .string(String(decoding: body, as: UTF8.self))), ("bytes", .int(body.count)),
                    ("limit", .int(push.route.payloadLimitBytes)),
                    ("activity_data_bytes", .int(push.activityDataBytes)),
                ])
            ),
            ("notes", .array(push.notes.map { .string($0) })),
        ]
        guard let answer else { return .object(members + [("answer", .null)]) }
        let error = ErrorAnswer(answer.response.body)
        let ids = answer.response.fields.pairs.filter { $0.0.hasPrefix("apns-") }
        members.append(
            (
                "answer",
                .object([
                    ("status", .int(answer.response.status)),
                    ("reason", error.reason.isEmpty ? .null : .string(error.reason)),
                    ("headers", .object(ids.map { ($0.0, .string($0.1)) })),
                    ("duration_ms", .number(answer.duration.wholeMilliseconds)),
                ])
            )
        )
        if let guide = ReasonGuide(error.reason) { members.append(("meaning", Explanation.json(guide))) }
        return .object(members)
    }
}
