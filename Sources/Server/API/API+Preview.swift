internal import APNs
internal import APNsProtocol
internal import Core
internal import HTTP2
internal import Store

extension API {
    /// What an event would send, byte for byte, and when. Nothing is stored, nothing is sent.
    func previewEvent(_ call: Call) async throws -> HTTPResponse {
        try call.noQuery()
        let match = try call.match().match
        let body = try EventBody(try call.json(), now: call.now)
        let contexts = try await store.eventContexts(of: [match], tenant: call.tenant, by: call.deadline)
        guard let context = contexts[match] else { throw Self.noSuchMatch }
        let (event, warnings) = try context.check(body.decoded, contracts: contracts)
        let preview = try await store.preview(
            IncomingEvent(match: match, event: event, bodyDigest: body.digest),
            tenant: call.tenant,
            by: call.deadline
        )
        let verdict = EventVerdict(preview.outcome, of: event)
        if let problem = verdict.problem { throw problem }
        let pushes = verdict.isDue ? PushPreview.all(preview) : []
        var members: [(String, JSONOutput)] = [
            ("match", .string(match.text)), ("event", .string(event.id.text)), ("status", .string(verdict.status)),
            ("version", .number(verdict.version)), ("replayed", .bool(verdict.isReplayed)),
        ]
        members += verdict.reason
        members.append(("warnings", .array((warnings + verdict.warnings).map { .string($0) })))
        members.append(("pushes", .array(pushes.map(\.json))))
        return .json(200, .object(members))
    }
}

extension PushPreview {
    fileprivate var json: JSONOutput {
        let body = String(decoding: batch.payload, as: UTF8.self)
        return [
            "target": .string(target.key.kind.rawValue), "environment": .string(target.key.environment.rawValue),
            "cadence": .string(cadence.rawValue), "event": isEnd ? "end" : "update",
            "versions": [.number(versions.lowerBound), .number(versions.upperBound)],
            "decision": .string(decision.rawValue), "reason": .string(reason),
            "at": decision == .send || decision == .wait
                ? .time(Timestamp(microseconds: at.milliseconds * 1_000)) : .null,
            "recipients": .int(recipients), "priority": .int(plan.priority), "downgraded": .bool(plan.isDowngraded),
            "alert": .bool(plan.carriesAlert), "method": "POST", "path": .string(path),
            "headers": .object(fields.map { ($0.name, .string($0.value)) }), "payload": .string(body),
            "size": .int(batch.payload.count), "limit": .int(limit),
        ]
    }

    private var path: String {
        batch.recipients.first?.route.path ?? "/3/device/{token}"
    }

    /// All but `authorization`; the id of a push to a token is that token's own.
    private var fields: [(name: String, value: String)] {
        guard let recipient = batch.recipients.first else {
            return batch.headers.shared + [("content-type", "application/json")]
        }
        var fields = batch.headers.fields(route: recipient.route, id: recipient.id)
        // Both come of the channel's id.
        if target.channel?.channel == nil {
            fields.removeAll { $0.name == "apns-channel-id" || $0.name == recipient.route.idHeader }
        }
        return fields + [("content-type", "application/json")]
    }

    private var limit: Int {
        batch.recipients.first?.route.payloadLimitBytes ?? PushLimits.devicePayloadBytes
    }
}
