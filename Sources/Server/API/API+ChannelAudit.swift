internal import APNsProtocol
internal import Core
internal import HTTP2
internal import Store

extension API {
    /// Makes a match's channels at once, whatever the app's lead.
    func makeChannels(_ call: Call) async throws -> HTTPResponse {
        try call.noQuery()
        let body = try call.object("match", "environment")
        let key = MatchKey(tenant: call.tenant, match: try body.wrapped("match"))
        let environment: APNsEnvironment? = try body.optionalChoice("environment")
        guard try await store.match(key, by: call.deadline) != nil else { throw Self.noSuchMatch }
        let made = try await store.makeChannelsNow(of: key, in: environment, by: call.deadline)
        guard made.contains(where: { $0.state != .deleted }) else {
            throw Problem(
                .noChannel,
                made.isEmpty ? "the match's app has no channels here" : "the match is over, and its channel gone",
                field: "match",
                hint: made.isEmpty ? "Set the app's channels to single or by_cadence." : nil
            )
        }
        wake()
        return .json(202, ["items": .array(made.map(Self.json))])
    }

    /// Deletes one that was made here and that no live match needs; its id is base64, percent-encoded.
    func deleteChannel(_ call: Call) async throws -> HTTPResponse {
        let query = try call.target.parameters(["bundle", "environment"])
        let id: ChannelID = try call.parameter("id")
        let found = try await store.channelLedger(of: call.tenant, id: id, by: call.deadline).filter { entry in
            (query["bundle"].map { $0 == entry.app.bundle.text } ?? true)
                && (query["environment"].map { $0 == entry.app.environment.rawValue } ?? true)
        }
        guard let entry = found.first, found.count == 1 else { throw Self.noSuchChannel }
        try await channelDesk().delete(entry, by: call.renewed(.seconds(15)).deadline)
        return .noContent
    }

    /// Compares the books with APNs' lists; deletes the orphaned ones that the call names, and nothing else.
    func auditChannels(_ call: Call) async throws -> HTTPResponse {
        try call.noQuery()
        let body = call.request.body.isEmpty ? nil : try call.object("bundle", "environment", "delete")
        let bundle: BundleID? = try body?.optionalWrapped("bundle")
        let environment: APNsEnvironment? = try body?.optionalChoice("environment")
        let wanted = try body.map { try Self.ids($0, "delete") } ?? []
        let apps = try await store.apps(of: call.tenant, after: nil, limit: 1_000, by: call.deadline).items.map(\.key)
            .filter { (bundle ?? $0.bundle) == $0.bundle && (environment ?? $0.environment) == $0.environment }
        guard !apps.isEmpty else { throw Problem(.notFound, "there is no such app", field: "bundle") }
        let desk = try channelDesk()
        var audits: [(AppKey, ChannelAudit)] = []
        for app in apps {
            audits.append((app, try await desk.audit(app, by: call.renewed(.seconds(30)).deadline)))
        }
        // All are looked at before one is deleted: a call that asks too much deletes nothing.
        let orphaned = audits.flatMap { $0.1.orphaned }
        let doomed = try wanted.map { id in
            guard let entry = orphaned.first(where: { $0.id == id }) else {
                if let live = audits.flatMap({ $0.1.open }).first(where: { $0.id == id }) {
                    throw ChannelDesk.isLive(live)
                }
                throw Problem(
                    .conflict,
                    "\(id.text) is not orphaned: it was not made here, or is gone",
                    field: "delete",
                    hint: "Only what the audit lists as orphaned can be deleted; nothing was."
                )
            }
            return entry
        }
        for entry in doomed { try await desk.delete(entry, by: call.renewed(.seconds(15)).deadline) }
        var items: [JSONOutput] = []
        for (app, audit) in audits {
            items.append(try await report(app, audit, deleted: Set(doomed.map(\.id)), desk, call))
        }
        wake()
        return .json(200, ["items": .array(items)])
    }

    private func report(
        _ app: AppKey,
        _ audit: ChannelAudit,
        deleted: Set<ChannelID>,
        _ desk: ChannelDesk,
        _ call: Call
    ) async throws -> JSONOutput {
        var lost: [JSONOutput] = []
        for entry in audit.lost {
            let isReplaced = try await desk.replace(entry, by: call.renewed(.seconds(5)).deadline)
            lost.append(Self.json(entry, ("replaced", .bool(isReplaced))))
        }
        let orphaned = audit.orphaned.map { Self.json($0, ("deleted", .bool(deleted.contains($0.id)))) }
        return [
            "bundle": .string(app.bundle.text), "environment": .string(app.environment.rawValue),
            "used": .int(audit.used - orphaned.count + audit.orphaned.filter { !deleted.contains($0.id) }.count),
            "limit": .int(ChannelAudit.limit), "open": .int(audit.open.count), "orphaned": .array(orphaned),
            "lost": .array(lost), "foreign": .array(audit.foreign.map { .string($0.text) }),
        ]
    }

    private func channelDesk() throws(Problem) -> ChannelDesk {
        guard let channels else {
            throw Problem(.unavailable, "this process has no way to APNs' channel management", retryAfterSeconds: 60)
        }
        return ChannelDesk(store: store, channels: channels)
    }

    private static let noSuchChannel = Problem(
        .notFound,
        "no such channel was made here",
        field: "id",
        hint: "Channels that were not made here are not deleted here; GET /v1/channels lists what was."
    )

    private static func json(_ entry: LedgerEntry, _ more: (String, JSONOutput)) -> JSONOutput {
        .object([
            ("channel_id", .string(entry.id.text)), ("match", .string(entry.match.text)),
            ("cadence", .string(entry.cadence.rawValue)), more,
        ])
    }

    private static func ids(_ body: ObjectReader, _ name: String) throws(Problem) -> [ChannelID] {
        guard let value = body.present(name) else { return [] }
        guard case .array(let elements) = value.content, elements.count <= 10_000 else {
            throw body.mistyped(name, value, "a list of channel ids")
        }
        var ids: [ChannelID] = []
        for (index, element) in elements.enumerated() {
            guard case .string(let text) = element.content, let id = ChannelID(validating: text) else {
                throw Problem(.invalidField, "\(name)[\(index)] must be \(ChannelID.rule)", field: "\(name)[\(index)]")
            }
            ids.append(id)
        }
        return ids
    }
}
