internal import Core
internal import HTTP2
internal import Store

extension API {
    func putActivity(_ call: Call) async throws -> HTTPResponse {
        try call.noQuery()
        let match = try call.match()
        let activity: ActivityID = try call.parameter("activity")
        let body = try ObjectReader(try call.json(), names: ActivityRegistration.names)
        let registration = try ActivityRegistration(body, activity: activity)
        switch try await desk.register(registration, match: match, by: call.deadline) {
        case .matchNotFound: throw Self.noSuchMatch
        case .noApp: throw ActivityRegistration.noApp
        case .stored(let version, let behind):
            if behind { wake() }
            return .json(
                200,
                [
                    "activity": .string(activity.text), "match": .string(match.match.text),
                    "version": .number(version), "behind": .bool(behind),
                ]
            )
        }
    }

    /// The activity ended on the phone, or was dismissed; `reason` says which.
    func deleteActivity(_ call: Call) async throws -> HTTPResponse {
        let match = try call.match()
        let activity: ActivityID = try call.parameter("activity")
        _ = try call.target.parameters(["reason"])
        if !call.request.body.isEmpty { _ = try call.object("reason").optionalString("reason") }
        guard try await store.removeActivity(activity, match: match, by: call.deadline) else {
            throw Problem(.notFound, "there is no such activity", field: "activity")
        }
        return .noContent
    }

    /// Many registrations of one match, each a line; one answer line each, in order, after each batch.
    func postActivityLines(_ call: Call, _ exchange: any LineExchange) async throws {
        try call.noQuery()
        let match = try call.match()
        guard try await store.match(match, by: call.deadline) != nil else { throw Self.noSuchMatch }
        var reader = LineReader(exchange)
        let failed = { self.note($0, inLinesOf: call) }
        try await reader.answerAll(to: exchange, parse: { ActivityLine($0) }, failed: failed) { entries in
            try await register(&entries, match: match)
        }
    }

    private func register(_ entries: inout [ActivityLine], match: MatchKey) async throws {
        let places = entries.indices.filter { entries[$0].registration != nil }
        guard !places.isEmpty else { return }
        let registrations = places.compactMap { entries[$0].registration }
        let answers = try await store.register(registrations, match: match, by: .now + patience)
        for (place, answer) in zip(places, answers) { entries[place].stored = answer }
        let isAnyBehind = answers.contains { if case .stored(_, behind: true) = $0 { true } else { false } }
        if isAnyBehind { wake() }
    }
}

/// One line on its way to its answer.
private struct ActivityLine: AnsweredLine {
    private(set) var registration: ActivityRegistration?
    var stored: ActivityAnswer?
    private var problem: Problem?
    private var activity: String?

    init(_ line: LineSplitter.Line) {
        do throws(Problem) {
            let json = try line.json()
            activity = json.text("activity")
            let body = try ObjectReader(json, names: ["activity"] + ActivityRegistration.names)
            registration = try ActivityRegistration(body, activity: try body.wrapped("activity"))
        } catch {
            problem = error
        }
    }

    func answer(_ refusal: Problem?) -> JSONOutput {
        let name: (String, JSONOutput) = ("activity", .string(activity))
        if let problem = problem ?? refusal { return .object([name] + problem.lineMembers) }
        switch stored {
        case .stored(let version, let behind):
            return .object([name, ("status", "stored"), ("version", .number(version)), ("behind", .bool(behind))])
        case .noApp: return .object([name] + ActivityRegistration.noApp.lineMembers)
        case .matchNotFound, nil: return .object([name] + API.noSuchMatch.lineMembers)
        }
    }
}
