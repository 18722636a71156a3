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
        let answers = try await store.register([registration], match: match, by: call.deadline)
        switch answers[0] {
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

    /// Many registrations of one match, each a line; one answer line each, in order.
    func postActivityLines(_ call: Call) async throws -> HTTPResponse {
        try call.noQuery()
        let match = try call.match()
        guard try await store.match(match, by: call.deadline) != nil else { throw Self.noSuchMatch }
        var lines = Lines(call.request.body)
        var answers: [UInt8] = []
        while true {
            let batch = lines.next()
            guard !batch.isEmpty else { return .lines(answers) }
            try await register(batch, match: match, call, into: &answers)
        }
    }

    /// Registers a batch and appends its answer lines.
    func register(
        _ lines: [ArraySlice<UInt8>],
        match: MatchKey,
        _ call: Call,
        into answers: inout [UInt8]
    ) async throws {
        let entries = lines.map { ActivityLine($0) }
        let registrations = entries.compactMap(\.registration)
        let stored =
            registrations.isEmpty ? [] : try await store.register(registrations, match: match, by: call.deadline)
        var next = stored.makeIterator()
        var isAnyBehind = false
        for entry in entries {
            let answer = entry.registration == nil ? nil : next.next()
            if case .stored(_, behind: true)? = answer { isAnyBehind = true }
            entry.answer(answer).append(to: &answers)
            answers.append(UInt8(ascii: "\n"))
        }
        if isAnyBehind { wake() }
    }
}

/// One line on its way to its answer.
private struct ActivityLine {
    private(set) var registration: ActivityRegistration?
    private var problem: Problem?
    private var activity: String?

    init(_ line: ArraySlice<UInt8>) {
        do throws(Problem) {
            let json = try Lines.json(line)
            activity = json.text("activity")
            let body = try ObjectReader(json, names: ["activity"] + ActivityRegistration.names)
            registration = try ActivityRegistration(body, activity: try body.wrapped("activity"))
        } catch {
            problem = error
        }
    }

    func answer(_ answer: ActivityAnswer?) -> JSONOutput {
        let name: (String, JSONOutput) = ("activity", .string(activity))
        if let problem { return .object([name] + problem.lineMembers) }
        switch answer {
        case .stored(let version, let behind):
            return .object([name, ("status", "stored"), ("version", .number(version)), ("behind", .bool(behind))])
        case .noApp: return .object([name] + ActivityRegistration.noApp.lineMembers)
        case .matchNotFound, nil: return .object([name] + API.noSuchMatch.lineMembers)
        }
    }
}
