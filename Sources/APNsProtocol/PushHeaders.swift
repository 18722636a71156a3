/// The value of `apns-push-type`. Touchline sends Live Activities; the others are there to be checked against.
package enum PushType: String, CaseIterable, Sendable {
    case liveActivity = "liveactivity"
    case alert
    case background
}

/// The headers that all pushes of a batch share. Their values come from validated types, never from a caller's text.
package struct PushHeaders: Hashable, Sendable {
    /// `apns-topic`: required for tokens, absent on broadcasts.
    package var topic: String?
    package var pushType: PushType
    /// 10 (now, counts against the phone's budget) or 5 (power-considerate, does not count).
    package var priority: Int
    /// UNIX seconds until which APNs may keep the push; 0: try once; `nil`: no header, which broadcasts refuse.
    package var expiration: Int64?
    package var collapseID: CollapseID?

    package init(
        topic: String?,
        pushType: PushType = .liveActivity,
        priority: Int,
        expiration: Int64?,
        collapseID: CollapseID? = nil
    ) {
        self.topic = topic
        self.pushType = pushType
        self.priority = priority
        self.expiration = expiration
        self.collapseID = collapseID
    }

    /// The headers of a Live Activity push to single tokens of an app.
    package static func device(_ bundle: BundleID, priority: Int, expiration: Int64?) -> PushHeaders {
        PushHeaders(topic: bundle.liveActivityTopic, priority: priority, expiration: expiration)
    }

    /// The headers of a push to a channel.
    package static func broadcast(priority: Int, expiration: Int64) -> PushHeaders {
        PushHeaders(topic: nil, priority: priority, expiration: expiration)
    }

    /// All `apns-…` fields of one push in the order in which they are sent; `authorization` is the connection's affair.
    package func fields(route: PushRoute, id: APNsID) -> [(name: String, value: String)] {
        var fields = shared
        if case .broadcast(_, let channel) = route { fields.append(("apns-channel-id", channel.text)) }
        fields.append((route.idHeader, id.description))
        return fields
    }

    /// Fields whose values differ from batch to batch, or from request to request: their names are worth a place in the
    /// peer's table, their values are not (Apple, "Establishing a connection to APNs").
    package static let varyingNames: Set<String> = [
        "apns-channel-id", "apns-collapse-id", "apns-expiration", "apns-id", "apns-request-id",
    ]

    /// The fields that are the same for every push of a batch.
    package var shared: [(name: String, value: String)] {
        var fields: [(name: String, value: String)] = []
        if let topic { fields.append(("apns-topic", topic)) }
        fields.append(("apns-push-type", pushType.rawValue))
        fields.append(("apns-priority", String(priority)))
        if let expiration { fields.append(("apns-expiration", String(expiration))) }
        if let collapseID { fields.append(("apns-collapse-id", collapseID.text)) }
        return fields
    }
}
