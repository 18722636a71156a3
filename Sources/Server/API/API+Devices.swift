internal import APNsProtocol
internal import Core
internal import HTTP2
internal import Store

extension API {
    func putDevice(_ call: Call) async throws -> HTTPResponse { try await put(call, mustExist: false) }

    /// Changes what it names of a device that is there.
    func changeDevice(_ call: Call) async throws -> HTTPResponse { try await put(call, mustExist: true) }

    private func put(_ call: Call, mustExist: Bool) async throws -> HTTPResponse {
        try call.noQuery()
        let device: DeviceID = try call.parameter("device")
        let draft = try DeviceDraft(try ObjectReader(try call.json(), names: DeviceDraft.names), device: device)
        let answer = try await store.putDevices([draft], tenant: call.tenant, mustExist: mustExist, by: call.deadline)
        if let problem = answer[0].problem { throw problem }
        wake()
        return .json(200, ["device": .string(device.text), "status": "stored"])
    }

    func listDevices(_ call: Call) async throws -> HTTPResponse {
        let paging = try Paging(call, parts: 1)
        let page = try await store.devices(
            of: call.tenant,
            after: paging.after?[0],
            limit: paging.limit,
            by: call.deadline
        )
        return .page(page, place: { [$0.device.text] }, \.json)
    }

    func deleteDevice(_ call: Call) async throws -> HTTPResponse {
        try call.noQuery()
        let device: DeviceID = try call.parameter("device")
        guard try await store.removeDevice(device, tenant: call.tenant, by: call.deadline) else {
            throw Problem(.notFound, "there is no such device", field: "device")
        }
        return .noContent
    }

    /// Many devices, each a line; one answer line each, in order.
    func postDeviceLines(_ call: Call, _ exchange: any LineExchange) async throws {
        try call.noQuery()
        var reader = LineReader(exchange)
        let failed = { self.note($0, inLinesOf: call) }
        try await reader.answerAll(to: exchange, parse: { DeviceLine($0) }, failed: failed) { lines in
            try await store(&lines, of: call.tenant)
            wake()
        }
    }

    private func store(_ lines: inout [DeviceLine], of tenant: TenantID) async throws {
        let places = lines.indices.filter { lines[$0].draft != nil }
        guard !places.isEmpty else { return }
        let answers = try await store.putDevices(
            places.compactMap { lines[$0].draft },
            tenant: tenant,
            by: .now + patience
        )
        for (place, answer) in zip(places, answers) { lines[place].stored = answer }
    }

    /// Starts a match on its followers' phones now, with an alert of the call's own, or the match's.
    func startMatch(_ call: Call) async throws -> HTTPResponse {
        try call.noQuery()
        let match = try call.match()
        let body = call.request.body.isEmpty ? nil : try call.object("alert")
        let alert = try body?.optionalObject("alert").map { try EventAlert($0, path: "alert").json }
        guard let record = try await store.match(match, by: call.deadline) else { throw Self.noSuchMatch }
        guard alert ?? record.startAlert != nil else {
            throw Problem(
                .conflict,
                "a start needs an alert, and the match has none",
                field: "alert",
                hint: "Give one here, as {\"alert\":{\"title\",\"body\"}}, or with the match, as start.alert."
            )
        }
        try await checkAttributes(of: record, call)
        guard try await store.startNow(match, alert: alert, by: call.deadline) else {
            throw Problem(
                .conflict,
                "the match is over or called off, and starts nobody",
                field: "match",
                hint: "GET /v1/matches/{match}/starts shows what became of its starts."
            )
        }
        wake()
        return try await showStarts(call)
    }

    /// A start comes once: what phones cannot decode is no start.
    private func checkAttributes(of record: MatchRecord, _ call: Call) async throws {
        let (type, _) = try await store.matchContext(
            bundle: record.bundle,
            type: record.type,
            tenant: call.tenant,
            by: call.deadline
        )
        guard let json = type?.attributes, let contract = contracts.contract(json) else { return }
        _ = try contract.check(try Self.attributes(record.attributes), path: "attributes")
    }

    /// What a start carries: `{}` for a match without attributes.
    static func attributes(_ json: RawJSON?) throws -> JSONValue {
        try JSONScanner.decode(json.map { Array($0.bytes) } ?? Array("{}".utf8))
    }

    /// What became of a match's starts.
    func showStarts(_ call: Call) async throws -> HTTPResponse {
        try call.noQuery()
        let match = try call.match()
        guard try await store.match(match, by: call.deadline) != nil else { throw Self.noSuchMatch }
        let passes = try await store.startCounts(of: match, by: call.deadline)
        let states = ["waiting", "sending", "accepted", "unknown", "refused", "given_up"]
        return .json(
            200,
            [
                "match": .string(match.match.text),
                "starts": .array(
                    passes.map { environment, pass, counts, joined in
                        .object(
                            [("environment", .string(environment.rawValue)), ("state", .string(pass))]
                                + states.map { ($0, .number(counts[$0] ?? 0)) } + [("joined", .number(joined))]
                        )
                    }
                ),
            ]
        )
    }
}

/// One line on its way to its answer.
private struct DeviceLine: AnsweredLine {
    private(set) var draft: DeviceDraft?
    var stored: DeviceAnswer?
    private var problem: Problem?
    private var device: String?

    init(_ line: LineSplitter.Line) {
        do throws(Problem) {
            let json = try line.json()
            device = json.text("device")
            let body = try ObjectReader(json, names: ["device"] + DeviceDraft.names)
            draft = try DeviceDraft(body, device: try body.wrapped("device"))
        } catch {
            problem = error
        }
    }

    func answer(_ refusal: Problem?) -> JSONOutput {
        let name: (String, JSONOutput) = ("device", .string(device))
        if let problem = problem ?? refusal ?? stored?.problem { return .object([name] + problem.lineMembers) }
        return .object([name, ("status", "stored")])
    }
}

extension DeviceAnswer {
    fileprivate var problem: Problem? {
        switch self {
        case .stored: nil
        case .environmentMissing:
            Problem(.invalidField, "environment is missing; a new device needs it", field: "environment")
        case .bundleMissing:
            Problem(.invalidField, "bundle is missing: the tenant has several apps, or none", field: "bundle")
        case .noApp:
            Problem(
                .invalidField,
                "the app does not exist in this environment",
                field: "environment",
                hint: "Create it: PUT /v1/apps/{bundle}/{environment}."
            )
        case .notFound: Problem(.notFound, "there is no such device", field: "device")
        }
    }
}

extension DeviceRecord {
    fileprivate var json: JSONOutput {
        [
            "device": .string(device.text), "bundle": .string(bundle.text),
            "environment": .string(environment.rawValue), "has_token": .bool(hasToken),
            "refused": .string(refusedReason), "supports_channels": .bool(supportsChannels),
            "frequent_pushes_enabled": .bool(allowsFrequentUpdates), "topics": .array(topics.map { .string($0) }),
            "showing": .array(showing.map { .string($0) }),
        ]
    }
}

extension DeviceDraft {
    static let names = [
        "push_to_start_token", "bundle", "environment", "supports_channels", "frequent_pushes_enabled", "topics",
        "showing",
    ]

    /// Reads what a phone says of itself; what is absent stays, a token of `null` is cleared.
    init(_ body: ObjectReader, device: DeviceID) throws(Problem) {
        self.init(device: device)
        bundle = try body.optionalWrapped("bundle")
        environment = try body.optionalChoice("environment")
        if let value = body.value("push_to_start_token") {
            token = .some(value.isNull ? nil : try body.wrapped("push_to_start_token"))
        }
        supportsChannels = try body.optionalBool("supports_channels")
        allowsFrequentUpdates = try body.optionalBool("frequent_pushes_enabled")
        topics = try Self.list(body, "topics")
        showing = try Self.list(body, "showing")
    }

    private static func list<Text: WrappedText>(_ body: ObjectReader, _ name: String) throws(Problem) -> [Text]? {
        guard let value = body.present(name) else { return nil }
        guard case .array(let elements) = value.content, elements.count <= 1_000 else {
            throw body.mistyped(name, value, "a list of at most 1,000 texts")
        }
        var texts: [Text] = []
        for (index, element) in elements.enumerated() {
            guard case .string(let text) = element.content, let wrapped = Text(validating: text) else {
                throw Problem(.invalidField, "\(name)[\(index)] must be \(Text.rule)", field: "\(name)[\(index)]")
            }
            texts.append(wrapped)
        }
        return texts
    }
}
