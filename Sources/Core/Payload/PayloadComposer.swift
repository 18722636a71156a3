package import APNsProtocol

/// Writes the JSON body of a push. Content state, alert, extras and digits stand in it as they came.
package struct PayloadComposer: Sendable {
    package var event: LiveActivityEvent
    /// `aps.timestamp`, UNIX seconds.
    package var stamp: Int64
    package var contentState: RawJSON?
    /// `aps.alert`, an object.
    package var alert: RawJSON?
    /// UNIX seconds.
    package var staleDate: Int64?
    /// UNIX seconds.
    package var dismissalDate: Int64?
    /// Digits.
    package var relevanceScore: String?
    /// An object whose members go into `aps`.
    package var extra: RawJSON?
    /// Only of a start.
    package var start: Start?

    /// What a start has beyond an update.
    package struct Start: Sendable {
        package var attributesType: AttributesType
        package var attributes: RawJSON
        package var updates: Updates?

        package init(attributesType: AttributesType, attributes: RawJSON, updates: Updates?) {
            self.attributesType = attributesType
            self.attributes = attributes
            self.updates = updates
        }
    }

    /// How the started activity is reached from then on.
    package enum Updates: Sendable {
        case channel(ChannelID)
        case token
    }

    package init(
        event: LiveActivityEvent,
        stamp: Int64,
        contentState: RawJSON?,
        alert: RawJSON? = nil,
        staleDate: Int64? = nil,
        dismissalDate: Int64? = nil,
        relevanceScore: String? = nil,
        extra: RawJSON? = nil,
        start: Start? = nil
    ) {
        self.event = event
        self.stamp = stamp
        self.contentState = contentState
        self.alert = alert
        self.staleDate = staleDate
        self.dismissalDate = dismissalDate
        self.relevanceScore = relevanceScore
        self.extra = extra
        self.start = start
    }

    /// The names in `aps` that Touchline sets.
    package static let ownNames: Set<String> = [
        "timestamp", "event", "content-state", "stale-date", "dismissal-date", "relevance-score", "alert",
        "attributes-type", "attributes", "input-push-channel", "input-push-token",
    ]

    /// The payload, byte for byte what APNs gets.
    package func compose() -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(512 + (contentState?.bytes.count ?? 0) + (alert?.bytes.count ?? 0))
        bytes += #"{"aps":{"timestamp":"#.utf8
        bytes += String(stamp).utf8
        bytes += #","event":""#.utf8
        bytes += event.rawValue.utf8
        bytes.append(UInt8(ascii: "\""))
        if let staleDate { append("stale-date", String(staleDate), to: &bytes) }
        if let dismissalDate { append("dismissal-date", String(dismissalDate), to: &bytes) }
        if let relevanceScore { append("relevance-score", relevanceScore, to: &bytes) }
        if let start { append(start, to: &bytes) }
        if let contentState { append("content-state", contentState.text, to: &bytes) }
        if let alert { append("alert", alert.text, to: &bytes) }
        if let extra { appendMembers(of: extra, to: &bytes) }
        bytes += "}}".utf8
        return bytes
    }

    private func append(_ start: Start, to bytes: inout [UInt8]) {
        append("attributes-type", "\"\(start.attributesType.text)\"", to: &bytes)
        append("attributes", start.attributes.text, to: &bytes)
        switch start.updates {
        case .channel(let id): append("input-push-channel", "\"\(id.text)\"", to: &bytes)
        case .token: append("input-push-token", "1", to: &bytes)
        case nil: break
        }
    }

    private func append(_ name: StaticString, _ json: String, to bytes: inout [UInt8]) {
        bytes += ",\"\(name)\":".utf8
        bytes += json.utf8
    }

    /// What stands between the braces of an object, which is not empty.
    private func appendMembers(of object: RawJSON, to bytes: inout [UInt8]) {
        let inner = object.bytes.dropFirst().dropLast()
        guard inner.contains(where: { $0 > 0x20 }) else { return }
        bytes.append(UInt8(ascii: ","))
        bytes += inner
    }
}
