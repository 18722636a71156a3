/// A provider's request as it arrived: the headers that the service knows in slots, the others as they came.
struct ProviderRequest: Sendable {
    var method = ""
    var path = ""
    var authorization: String?
    var topic: String?
    var pushType: String?
    var priority: String?
    var expiration: String?
    var collapseID: String?
    var messageID: String?
    var requestID: String?
    var channelID: String?
    /// `:scheme`, `content-type`, `user-agent` and whatever else came, in order.
    var others: [(name: String, value: String)] = []
    /// A header that the service knows came more than once.
    var hasDuplicates = false
    var body: [UInt8] = []

    init() {}

    init(_ method: String, _ path: String, _ headers: [(String, String)] = [], body: String = "") {
        take(":method", method)
        take(":path", path)
        for (name, value) in headers { take(name, value) }
        self.body = Array(body.utf8)
    }

    /// Adds one header; `name` is in lower case, as HTTP/2 has it (RFC 9113, 8.2).
    mutating func take(_ name: String, _ value: String) {
        switch name {
        case ":method": method = value
        case ":path": path = value
        case "authorization": Self.fill(&authorization, value, &hasDuplicates)
        case "apns-topic": Self.fill(&topic, value, &hasDuplicates)
        case "apns-push-type": Self.fill(&pushType, value, &hasDuplicates)
        case "apns-priority": Self.fill(&priority, value, &hasDuplicates)
        case "apns-expiration": Self.fill(&expiration, value, &hasDuplicates)
        case "apns-collapse-id": Self.fill(&collapseID, value, &hasDuplicates)
        case "apns-id": Self.fill(&messageID, value, &hasDuplicates)
        case "apns-request-id": Self.fill(&requestID, value, &hasDuplicates)
        case "apns-channel-id": Self.fill(&channelID, value, &hasDuplicates)
        default: others.append((name, value))
        }
    }

    private static func fill(_ slot: inout String?, _ value: String, _ hasDuplicates: inout Bool) {
        if slot != nil { hasDuplicates = true } else { slot = value }
    }

    /// Every header but `:method` and `:path`, for people to read: a provider token is shown without its signature.
    var headersForDisplay: [(name: String, value: String)] {
        let known: [(String, String?)] = [
            ("authorization", authorization.map(Self.withoutSignature)), ("apns-topic", topic),
            ("apns-push-type", pushType), ("apns-priority", priority), ("apns-expiration", expiration),
            ("apns-collapse-id", collapseID), ("apns-id", messageID), ("apns-request-id", requestID),
            ("apns-channel-id", channelID),
        ]
        return others + known.compactMap { name, value in value.map { (name: name, value: $0) } }
    }

    private static func withoutSignature(_ authorization: String) -> String {
        guard let dot = authorization.lastIndex(of: ".") else { return authorization }
        return authorization[...dot] + "…"
    }
}

/// A request in one piece of memory that the checks, the log and whoever waits with it share: a request is a dozen texts,
/// too many to count references of at each hand-over.
final class ArrivedRequest: Sendable {
    let fields: ProviderRequest

    init(_ fields: ProviderRequest) { self.fields = fields }
}
