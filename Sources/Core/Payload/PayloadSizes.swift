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

    /// What a start has beside attributes and content state: its keys, the longest type and channel id that occur.
    private static let startReserveBytes = 512

    /// Checks that a match can be started with its first state.
    ///
    /// - Throws: `payload_too_large`: a start goes to tokens.
    package func check(startAlert: RawJSON, contentState: RawJSON) throws(Problem) {
        let size = startAlert.bytes.count + contentState.bytes.count + attributesBytes + Self.startReserveBytes
        let limit = PushLimits.devicePayloadBytes
        guard size > limit else { return }
        throw Problem(
            .payloadTooLarge,
            "a start with its alert, attributes and content state takes up to \(size) bytes; the limit is \(limit)",
            field: "start",
            hint: "Shorten the alert, the attributes or texts in the content state.",
            excess: Problem.SizeExcess(size: size, limit: limit, route: "token")
        )
    }

    /// - Throws: `payload_too_large` with size, limit and route: the one that is exceeded by most.
    package func check(contentState: RawJSON?, relevanceScore: String? = nil, extra: RawJSON? = nil) throws(Problem) {
        let size = Self.worstBytes(contentState: contentState, relevanceScore: relevanceScore, extra: extra)
        let payload = "with \(Self.alertReserveBytes) bytes kept for an alert, the payload takes"
        var checks: [(what: String, size: Int, limit: Int, route: String)] = []
        if routes.contains(.tokens) { checks.append((payload, size, PushLimits.devicePayloadBytes, "token")) }
        if routes.contains(.broadcast) { checks.append((payload, size, PushLimits.broadcastPayloadBytes, "broadcast")) }
        if let contentState {
            let size = attributesBytes + contentState.bytes.count
            let what = "attributes and content state together take"
            checks.append((what, size, PushLimits.activityDataBytes, "activity_data"))
        }
        let worst = checks.filter { $0.size > $0.limit }.max { $0.size - $0.limit < $1.size - $1.limit }
        guard let worst else { return }
        throw Problem(
            .payloadTooLarge,
            "\(worst.what) \(worst.size) bytes; the limit of this route (\(worst.route)) is \(worst.limit)",
            field: "content_state",
            hint: "Shorten texts in the content state, or leave out what the phone can work out itself.",
            excess: Problem.SizeExcess(size: worst.size, limit: worst.limit, route: worst.route)
        )
    }
}
