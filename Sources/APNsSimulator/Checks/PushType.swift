/// The push types of Apple's table, each with the suffix that its topic has behind the bundle id.
enum PushType: String, Sendable {
    case alert, background, liveactivity, location, voip, complication, controls, widgets, fileprovider, pushtotalk, mdm

    var topicSuffix: String {
        switch self {
        case .alert, .background, .mdm: ""
        case .liveactivity: ".push-type.liveactivity"
        case .location: ".location-query"
        case .voip: ".voip"
        case .complication: ".complication"
        case .controls: ".push-type.controls"
        case .widgets: ".push-type.widgets"
        case .fileprovider: ".pushkit.fileprovider"
        case .pushtotalk: ".voip-ptt"
        }
    }

    /// The largest body, in bytes.
    var mostPayloadBytes: Int { self == .voip ? 5120 : 4096 }

    private static let suffixes = [
        ".push-type.liveactivity", ".location-query", ".voip", ".complication", ".push-type.controls",
        ".push-type.widgets", ".pushkit.fileprovider", ".voip-ptt",
    ]

    static func hasTopicSuffix(_ topic: String) -> Bool { suffixes.contains { endsWith(topic, $0) } }

    /// The bundle id in front of the topic's suffix.
    static func bundle(ofTopic topic: String) -> String {
        guard let suffix = suffixes.first(where: { endsWith(topic, $0) }) else { return topic }
        return String(decoding: topic.utf8.dropLast(suffix.utf8.count), as: UTF8.self)
    }

    /// Whether the topic is a bundle id with this type's suffix. A plain topic must have none of the others.
    func fits(topic: String) -> Bool {
        let suffix = topicSuffix
        guard !suffix.isEmpty else { return self == .mdm || !Self.hasTopicSuffix(topic) }
        return topic.utf8.count > suffix.utf8.count && Self.endsWith(topic, suffix)
    }

    private static func endsWith(_ text: String, _ suffix: String) -> Bool {
        text.utf8.count >= suffix.utf8.count && text.utf8.suffix(suffix.utf8.count).elementsEqual(suffix.utf8)
    }
}
