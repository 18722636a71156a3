internal import APNsProtocol
internal import Core
internal import HTTP2
internal import Store

extension API {
    func putMatch(_ call: Call) async throws -> HTTPResponse {
        try call.noQuery()
        let key = try call.match()
        let body = try call.object(
            "bundle",
            "type",
            "kickoff_at",
            "topics",
            "attributes",
            "content_state",
            "start",
            "status",
            "ends_after_silence",
            "renew"
        )
        let start = try Self.start(body)
        var draft = MatchDraft(
            bundle: try body.wrapped("bundle"),
            type: try body.wrapped("type"),
            kickoffAt: try KickOff.checked(try body.time("kickoff_at"), field: "kickoff_at"),
            topics: try Self.topics(body),
            attributes: try body.optionalObject("attributes")?.rawJSON,
            startAlert: start?.alert,
            startLead: start?.lead,
            endsAfterSilence: try body.optionalInteger("ends_after_silence", in: EndHold.silences),
            isRenewed: try body.optionalBool("renew") ?? false,
            contentState: nil,
            status: try Self.status(body)
        )
        let (type, routes) = try await store.matchContext(
            bundle: draft.bundle,
            type: draft.type,
            tenant: call.tenant,
            by: call.deadline
        )
        var warnings = type == nil ? ["type_without_contract"] : []
        // A start carries some even if there are none.
        let attributes = try body.optionalObject("attributes") ?? (start == nil ? nil : try Self.attributes(nil))
        if let attributes, let json = type?.attributes, let contract = contracts.contract(json) {
            let verdict = try contract.check(attributes, path: "attributes")
            if draft.attributes != nil { draft.attributes = verdict.json }
            warnings += verdict.warnings
        }
        if let state = try body.optionalObject("content_state") {
            draft.contentState = state.rawJSON
            if let json = type?.contentState, let contract = contracts.contract(json) {
                let verdict = try contract.check(state, path: "content_state")
                draft.contentState = verdict.json
                warnings += verdict.warnings
            }
            let sizes = PayloadSizes(routes: routes, attributesBytes: draft.attributes?.bytes.count ?? 0)
            try sizes.check(contentState: draft.contentState)
            if let alert = draft.startAlert { try sizes.check(startAlert: alert, contentState: state.rawJSON) }
        }
        let answer = try await store.putMatch(draft, key, now: call.now, by: call.deadline)
        let (status, match) = try Self.stored(answer, bundle: draft.bundle)
        wake()
        let standstill = MatchStandstill(match, saidStatus: draft.status, now: call.now)
        return try await show(
            match,
            status: status,
            warnings: warnings + [standstill?.rawValue].compactMap(\.self),
            hint: standstill?.hint,
            call
        )
    }

    func showMatch(_ call: Call) async throws -> HTTPResponse {
        try call.noQuery()
        guard let match = try await store.match(try call.match(), by: call.deadline) else { throw Self.noSuchMatch }
        return try await show(match, status: 200, warnings: match.endsSoon(now: call.now) ? ["ends_soon"] : nil, call)
    }

    func listMatches(_ call: Call) async throws -> HTTPResponse {
        let paging = try Paging(call, parts: 1, filters: ["bundle", "status"])
        var bundle: BundleID?
        if let text = paging.filters["bundle"] {
            bundle = BundleID(validating: text)
            guard bundle != nil else {
                throw Problem(.invalidField, "bundle must be \(BundleID.rule)", field: "bundle")
            }
        }
        var status: MatchStatus?
        if let text = paging.filters["status"] {
            status = MatchStatus(rawValue: text)
            let known = MatchStatus.allCases.map(\.rawValue).joined(separator: ", ")
            guard status != nil else { throw Problem(.invalidField, "status is none of \(known)", field: "status") }
        }
        let page = try await store.matches(
            of: call.tenant,
            bundle: bundle,
            status: status,
            after: paging.after?[0],
            limit: paging.limit,
            by: call.deadline
        )
        return .page(page, place: { [$0.key.match.text] }) { .object($0.members) }
    }

    func deleteMatch(_ call: Call) async throws -> HTTPResponse {
        try call.noQuery()
        guard try await store.deleteMatch(try call.match(), by: call.deadline) else { throw Self.noSuchMatch }
        wake()
        return .noContent
    }

    /// Pauses and resumes.
    func changeMatch(_ call: Call) async throws -> HTTPResponse {
        try call.noQuery()
        let key = try call.match()
        let isPaused = try call.object("paused").bool("paused")
        guard let match = try await store.pauseMatch(key, isPaused, by: call.deadline) else { throw Self.noSuchMatch }
        if !isPaused {
            for environment in APNsEnvironment.allCases {
                let app = AppKey(tenant: key.tenant, bundle: match.bundle, environment: environment)
                try await store.markBehind(app, by: call.deadline)
            }
        }
        wake()
        return try await show(match, status: 200, warnings: nil, call)
    }

    /// Takes an end back while it is held.
    func withdrawEnd(_ call: Call) async throws -> HTTPResponse {
        try call.noQuery()
        let key = try call.match()
        guard let match = try await store.match(key, by: call.deadline) else { throw Self.noSuchMatch }
        guard try await store.withdrawEnd(key, by: call.deadline) else {
            throw Problem(
                .conflict,
                match.status == .ended
                    ? "the match has ended, and phones ignore what comes after an end" : "no end is held",
                field: "match",
                hint: "An end can be withdrawn while it is held, five seconds long."
            )
        }
        wake()
        return try await show(match, status: 200, warnings: nil, call)
    }

    /// Forgets which event is the newest: the next one is taken, whatever its sequence and time.
    func resetOrder(_ call: Call) async throws -> HTTPResponse {
        try call.noQuery()
        guard let match = try await store.resetOrder(of: try call.match(), by: call.deadline) else {
            throw Self.noSuchMatch
        }
        return try await show(match, status: 200, warnings: nil, call)
    }

    static let noSuchMatch = Problem(.notFound, "there is no such match", field: "match")

    private func show(
        _ match: MatchRecord,
        status: Int,
        warnings: [String]?,
        hint: String? = nil,
        _ call: Call
    ) async throws -> HTTPResponse {
        var members = match.members
        let channels = try await store.channels(of: match.key, by: call.deadline)
        members.append(
            (
                "channels",
                .array(
                    channels.map { channel in
                        [
                            "environment": .string(channel.environment.rawValue),
                            "cadence": .string(channel.cadence.rawValue),
                            "state": .string(channel.state.rawValue), "channel_id": .string(channel.channel?.text),
                            "last_error": .string(channel.lastError),
                        ]
                    }
                )
            )
        )
        if let warnings { members.append(("warnings", .array(warnings.map { .string($0) }))) }
        if let hint { members.append(("hint", .string(hint))) }
        return .json(status, .object(members))
    }

    private static func stored(_ answer: MatchPutAnswer, bundle: BundleID) throws(Problem) -> (Int, MatchRecord) {
        switch answer {
        case .created(let match): return (201, match)
        case .updated(let match): return (200, match)
        case .noApp:
            throw Problem(
                .invalidField,
                "there is no app \(bundle)",
                field: "bundle",
                hint: "Create it first: PUT /v1/apps/\(bundle)/{environment}."
            )
        case .contentStateMissing:
            throw Problem(
                .invalidField,
                "content_state is missing; a new match needs its first one",
                field: "content_state"
            )
        case .fixed(let field):
            throw Problem(.conflict, "\(field) cannot change any more: the match has had events", field: field)
        case .statusConflict(let status):
            throw Problem(
                .conflict,
                "the match is \(status.rawValue); this cannot be undone",
                field: "status",
                hint: status == .ended
                    ? MatchStandstill.ended.hint : "Delete the match and put it again: its versions go on counting."
            )
        case .endHeld:
            throw Problem(
                .conflict,
                "the match ends in a few seconds, and cannot begin anew before",
                field: "renew",
                hint: "Try again in ten seconds."
            )
        }
    }

    private static func topics(_ body: ObjectReader) throws(Problem) -> [String] {
        guard let value = body.present("topics") else { return [] }
        guard case .array(let elements) = value.content else { throw body.mistyped("topics", value, "a list of texts") }
        guard elements.count <= 100 else {
            throw Problem(.invalidField, "topics has \(elements.count) entries, 100 are the most", field: "topics")
        }
        var topics: [String] = []
        for (index, element) in elements.enumerated() {
            guard case .string(let text) = element.content, let topic = Topic(validating: text) else {
                throw Problem(.invalidField, "topics[\(index)] must be \(Topic.rule)", field: "topics[\(index)]")
            }
            topics.append(topic.text)
        }
        return topics
    }

    private static func start(_ body: ObjectReader) throws(Problem) -> (alert: RawJSON, lead: Int64?)? {
        guard let start = try body.optionalObject("start") else { return nil }
        let reader = try ObjectReader(start, path: "start", names: ["alert", "lead"])
        let lead = try reader.optionalInteger("lead", in: 0...86_400)
        guard let alert = try reader.optionalObject("alert") else {
            if lead == nil { return nil }
            throw Problem(
                .invalidField,
                "start.alert is missing: iOS starts nothing without one",
                field: "start.alert",
                hint: "Say what the start shows: {\"alert\":{\"title\":…,\"body\":…},\"lead\":600}."
            )
        }
        return (try EventAlert(alert, path: "start.alert").json, lead)
    }

    private static func status(_ body: ObjectReader) throws(Problem) -> MatchStatus? {
        guard let status = try body.optionalChoice("status", MatchStatus.self) else { return nil }
        switch status {
        case .scheduled, .postponed, .abandoned: return status
        case .live, .ended:
            throw Problem(
                .invalidField,
                "\(status.rawValue) comes from events",
                field: "status",
                hint: "Post an event; one of kind \"end\" ends the match."
            )
        }
    }
}

extension MatchRecord {
    /// When it ends by itself, if no event comes.
    private var endsAt: Timestamp { max(kickoffAt, lastEventAt) + silence }

    /// Whether most of the silence that ends it is over.
    fileprivate func endsSoon(now: Timestamp) -> Bool { !hasEnded && endsAt - now <= EndHold.notice(of: silence) }

    fileprivate var members: [(String, JSONOutput)] {
        var members: [(String, JSONOutput)] = [
            ("match", .string(key.match.text)), ("bundle", .string(bundle.text)), ("type", .string(type.text)),
            ("status", .string(status.rawValue)), ("version", .number(version)), ("kickoff_at", .time(kickoffAt)),
            ("last_sequence", .number(lastSequence)), ("last_occurred_at", .time(lastOccurredAt)),
            ("topics", .array(topics.map { .string($0) })), ("paused", .bool(pausedAt != nil)),
            ("ends_after_silence", .number(endsAfterSilence)), ("ends_at", .time(hasEnded ? nil : endsAt)),
        ]
        if let attributes { members.append(("attributes", .raw(attributes))) }
        if let startAlert {
            let lead = startLead.map { [("lead", JSONOutput.number($0))] } ?? []
            members.append(("start", .object([("alert", .raw(startAlert))] + lead)))
        }
        members.append(("content_state", .raw(contentState)))
        return members
    }
}
