internal import APNsProtocol
internal import Core
internal import HTTP2
internal import Store

extension API {
    /// What the app passes to `.channel(…)`.
    func showChannel(_ call: Call) async throws -> HTTPResponse {
        let match = try call.match()
        let query = try call.target.parameters(["environment", "frequent_pushes_enabled"])
        guard let environment = query["environment"].flatMap(APNsEnvironment.init(rawValue:)) else {
            throw Problem(.invalidField, "environment is neither sandbox nor production", field: "environment")
        }
        let allowsFrequent = try Self.flag(query["frequent_pushes_enabled"], "frequent_pushes_enabled")
        guard let record = try await store.match(match, by: call.deadline) else { throw Self.noSuchMatch }
        let app = AppKey(tenant: match.tenant, bundle: record.bundle, environment: environment)
        let appRecord = try await store.app(app, by: call.deadline)
        let settings = appRecord?.settings
        let channels = try await store.channels(of: match, by: call.deadline)
            .filter { $0.environment == environment && $0.state != .deleted }
        let wanted = Cadence.of(
            phoneAllowsFrequent: allowsFrequent ?? false,
            appDeclaresFrequent: settings?.frequentUpdatesDeclared ?? false
        )
        // A match whose app went over to two channels still has the one of before, for the phones that are on it.
        let order: [Cadence] = settings?.channels == .byCadence ? [wanted, .any] : [.any, wanted]
        guard let channel = order.lazy.compactMap({ cadence in channels.first { $0.cadence == cadence } }).first else {
            throw Problem(
                .noChannel,
                "the match has no channel in \(environment.rawValue)",
                hint: "Register update tokens instead."
            )
        }
        guard channel.state == .open, let id = channel.channel else {
            throw PendingChannel(channel: channel, app: appRecord, now: call.now).problem
        }
        return .json(
            200,
            [
                "channel_id": .string(id.text), "environment": .string(environment.rawValue),
                "cadence": .string(channel.cadence.rawValue), "storage_policy": .int(channel.storagePolicy.rawValue),
            ]
        )
    }

    func listChannels(_ call: Call) async throws -> HTTPResponse {
        let paging = try Paging(call, parts: 3)
        let after = paging.after.map { ($0[0], $0[1], $0[2]) }
        let page = try await store.channels(of: call.tenant, after: after, limit: paging.limit, by: call.deadline)
        let place = { (channel: ChannelRecord) in
            [channel.match.match.text, channel.environment.rawValue, channel.cadence.rawValue]
        }
        return .page(page, place: place, Self.json)
    }

    static func json(_ channel: ChannelRecord) -> JSONOutput {
        [
            "channel_id": .string(channel.channel?.text), "bundle": .string(channel.bundle.text),
            "environment": .string(channel.environment.rawValue), "match": .string(channel.match.match.text),
            "cadence": .string(channel.cadence.rawValue), "state": .string(channel.state.rawValue),
            "storage_policy": .int(channel.storagePolicy.rawValue), "last_error": .string(channel.lastError),
            "replaced_at": .time(channel.replacedAt.map { Timestamp(microseconds: $0.milliseconds * 1_000) }),
        ]
    }

    private static func flag(_ text: String?, _ name: String) throws(Problem) -> Bool? {
        switch text {
        case nil: nil
        case "true": true
        case "false": false
        default: throw Problem(.invalidField, "\(name) is neither true nor false", field: name)
        }
    }
}
