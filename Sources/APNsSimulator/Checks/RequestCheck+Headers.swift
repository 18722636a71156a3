extension RequestCheck {
    static func checkDeviceHeadersPresent(_ context: inout CheckContext) -> Rejection? {
        if context.request.topic?.isEmpty ?? true { return Rejection(400, "MissingTopic") }
        // Apple requires it on watchOS only, and recommends it elsewhere; the contract treats it as mandatory.
        return context.request.pushType == nil ? Rejection(400, "InvalidPushType") : nil
    }

    static func checkBroadcastHeadersPresent(_ context: inout CheckContext) -> Rejection? {
        if let rejection = checkChannelHeaderPresent(&context) { return rejection }
        if context.request.pushType == nil { return Rejection(400, "MissingPushType") }
        if context.request.expiration == nil { return Rejection(400, "BadExpirationDate") }
        return context.request.priority == nil ? Rejection(400, "BadPriority") : nil
    }

    static func checkChannelHeaderPresent(_ context: inout CheckContext) -> Rejection? {
        context.request.channelID?.isEmpty ?? true ? Rejection(400, "MissingChannelId") : nil
    }

    /// `apns-id`, or `apns-request-id` on the newer routes, where Apple's samples show either.
    static func checkMessageID(_ context: inout CheckContext) -> Rejection? {
        for id in [context.request.messageID, context.request.requestID] {
            if let id, !CanonicalUUID.isUUID(id, lowerCaseOnly: false) { return Rejection(400, "BadMessageId") }
        }
        return nil
    }

    static func checkPushTypeAndTopic(_ context: inout CheckContext) -> Rejection? {
        guard let type = context.request.pushType.flatMap({ PushType(rawValue: $0) }) else {
            return Rejection(400, "InvalidPushType")
        }
        guard let topic = context.request.topic, type.fits(topic: topic), isTopic(topic) else {
            return Rejection(400, "BadTopic")
        }
        return nil
    }

    static func checkBroadcastPushType(_ context: inout CheckContext) -> Rejection? {
        context.request.pushType == "liveactivity" ? nil : Rejection(400, "InvalidPushType")
    }

    /// 10, 5 or 1; a Live Activity's token takes no 1, `background` no 10. Broadcasts take all three.
    static func checkPriority(_ context: inout CheckContext) -> Rejection? {
        let bad = Rejection(400, "BadPriority")
        guard let priority = context.request.priority else {
            return context.request.pushType == "background" ? bad : nil  // absent is 10
        }
        guard priority == "10" || priority == "5" || priority == "1" else { return bad }
        guard context.route?.kind == .device else { return nil }
        switch (context.request.pushType, priority) {
        case ("liveactivity", "1"), ("background", "10"): return bad
        default: return nil
        }
    }

    static func checkExpiration(_ context: inout CheckContext) -> Rejection? {
        guard let text = context.request.expiration else { return nil }
        guard let seconds = Int64(text), seconds >= 0, text.utf8.first != UInt8(ascii: "+") else {
            return Rejection(400, "BadExpirationDate")
        }
        context.expiration = seconds
        return nil
    }

    static func checkCollapseID(_ context: inout CheckContext) -> Rejection? {
        guard let id = context.request.collapseID else { return nil }
        return id.utf8.count > 64 ? Rejection(400, "BadCollapseId") : nil
    }

    private static func isTopic(_ topic: String) -> Bool {
        topic.utf8.allSatisfy { byte in
            byte == UInt8(ascii: ".") || byte == UInt8(ascii: "-") || (0x30...0x39).contains(byte)
                || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte) || byte == UInt8(ascii: "_")
        }
    }
}
