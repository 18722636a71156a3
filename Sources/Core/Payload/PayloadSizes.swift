import APNsProtocol

/// Checks an event's sizes before it is accepted: what was accepted must fit every route of its app, with any alert.
package struct PayloadSizes: Sendable {
    /// Whether the app's tokens and channels are served.
    package var routes: Routes
    /// Of the static attributes of the match.
    package var attributesBytes: Int

    package struct Routes: OptionSet, Sendable {
        package let rawValue: Int
        package init(rawValue: Int) { self.rawValue = rawValue }
        package static let tokens = Routes(rawValue: 1)
        package static let broadcast = Routes(rawValue: 2)
    }

    package init(routes: Routes, attributesBytes: Int = 0) {
        self.routes = routes
        self.attributesBytes = attributesBytes
    }

    /// What an alert may take, comma included. An alert outlives its version, so even a state that came without one
    /// must leave the room.
    package static let alertReserveBytes = EventAlert.longestBytes + 1

    /// The size of the biggest payload that this state can become, the alert's room included.
    package static func worstBytes(contentState: RawJSON?, relevanceScore: String?, extra: RawJSON?) -> Int {
        // An update has a stale date, an end a dismissal date, which is longer. Seconds have ten digits until 2286.
        let widest: Int64 = 9_999_999_999
        let composer = PayloadComposer(
            event: .update,
            stamp: widest,
            contentState: contentState,
            staleDate: widest,
            relevanceScore: relevanceScore,
            extra: extra
        )
        var end = composer
        (end.event, end.staleDate, end.dismissalDate) = (.end, nil, widest)
        return max(composer.compose().count, end.compose().count) + alertReserveBytes
    }

    /// - Throws: `payload_too_large` with size, limit and route.
    package func check(contentState: RawJSON?, relevanceScore: String? = nil, extra: RawJSON? = nil) throws(Problem) {
        if let contentState {
            let size = attributesBytes + contentState.bytes.count
            try check(size, PushLimits.activityDataBytes, "activity_data", "attributes and content state together take")
        }
        let size = Self.worstBytes(contentState: contentState, relevanceScore: relevanceScore, extra: extra)
        let what = "with \(Self.alertReserveBytes) bytes kept for an alert, the payload takes"
        if routes.contains(.tokens) { try check(size, PushLimits.devicePayloadBytes, "token", what) }
        if routes.contains(.broadcast) { try check(size, PushLimits.broadcastPayloadBytes, "broadcast", what) }
    }

    private func check(_ size: Int, _ limit: Int, _ route: String, _ what: String) throws(Problem) {
        guard size > limit else { return }
        throw Problem(
            .payloadTooLarge,
            "\(what) \(size) bytes; the limit of this route (\(route)) is \(limit)",
            field: "content_state",
            hint: "Shorten texts in the content state, or leave out what the phone can work out itself.",
            excess: Problem.SizeExcess(size: size, limit: limit, route: route)
        )
    }
}
