extension RequestCheck {
    /// Stored messages are kept this long at most.
    static let longestStorageSeconds: Int64 = 8 * 3600

    /// A token is hexadecimal; one that was registered belongs to its environment, and to its app if that is known.
    static func checkDeviceToken(_ context: inout CheckContext) -> Rejection? {
        guard case .device(let text) = context.route, let token = DeviceTokenText.bytes(text) else {
            return Rejection(400, "BadDeviceToken")
        }
        context.tokenBytes = token
        if context.phones.isForeign(token) { return Rejection(400, "BadDeviceToken") }
        if let bundle = context.phones.bundle(of: token), let topic = context.request.topic,
            PushType.bundle(ofTopic: topic) != bundle
        {
            return Rejection(400, "DeviceTokenNotForTopic")
        }
        return nil
    }

    static func checkChannel(_ context: inout CheckContext) -> Rejection? {
        guard let id = context.request.channelID, let bundle = context.route?.bundle, ChannelStore.isWellFormed(id)
        else {
            return Rejection(400, "BadChannelId")
        }
        context.channel = context.channels.find(id, bundle, context.environment)
        return context.channel == nil ? Rejection(400, "ChannelNotRegistered") : nil
    }

    static func checkDeletedChannel(_ context: inout CheckContext) -> Rejection? {
        guard let rejection = checkChannel(&context) else { return nil }
        return rejection.reason == "BadChannelId" ? rejection : context.profile.deletionOfUnknownChannel
    }

    /// Policy 0 takes only 0, one attempt. Policy 1 stores until then; the past, and more than 8 hours, are undocumented:
    /// the first is taken as one attempt, the second is capped.
    static func checkStoragePolicy(_ context: inout CheckContext) -> Rejection? {
        guard let channel = context.channel, let expiration = context.expiration else { return nil }
        return channel.storagePolicy == 0 && expiration != 0 ? Rejection(400, "BadExpirationDate") : nil
    }

    static func checkPayload(_ context: inout CheckContext) -> Rejection? {
        let size = context.request.body.count
        if size == 0 { return Rejection(400, "PayloadEmpty") }
        let most: Int
        if context.route?.kind == .broadcast {
            most = 5120
        } else {
            most = context.request.pushType.flatMap { PushType(rawValue: $0) }?.mostPayloadBytes ?? 4096
        }
        return size > most ? Rejection(413, "PayloadTooLarge") : nil
    }

    /// `{"message-storage-policy": 0 or 1, "push-type": "LiveActivity"}`, both required, nothing else.
    static func checkChannelDescription(_ context: inout CheckContext) -> Rejection? {
        guard let json = try? JSONTextParser.parse(context.request.body), let members = json.members else {
            return Rejection(400, "BadRequestPayload")
        }
        guard members.allSatisfy({ $0.name == "message-storage-policy" || $0.name == "push-type" }) else {
            return Rejection(400, "BadRequestParams")
        }
        guard let type = json["push-type"] else { return Rejection(400, "MissingPushType") }
        guard type.string == "LiveActivity" else { return Rejection(400, "InvalidPushType") }
        guard let policy = json["message-storage-policy"]?.integer, policy == 0 || policy == 1 else {
            return Rejection(400, "BadRequestParams")
        }
        context.storagePolicy = Int(policy)
        return nil
    }
}
