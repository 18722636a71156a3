/// APNs' word for why it refused, kept as it came: reasons that are new to us stay readable.
package struct APNsReason: RawRepresentable, Hashable, Sendable, ExpressibleByStringLiteral {
    package let rawValue: String

    package init(rawValue: String) { self.rawValue = rawValue }
    package init(stringLiteral value: String) { rawValue = value }

    /// The class of a known reason, `nil` for one that no page of Apple's names.
    package var kind: Kind? { Self.kinds[rawValue] }

    /// Whether the connection that brought this answer should be replaced by a new one.
    package var replacesConnection: Bool { Self.endsConnection.contains(rawValue) }

    /// What a reason is about. One reason has one kind on every route.
    package enum Kind: CaseIterable, Sendable {
        /// The token was good once: 410.
        case tokenDead
        /// The token is malformed, of the other environment or of another topic.
        case tokenRefused
        /// The channel was deleted, or never was.
        case channelGone
        /// The app has 10,000 channels.
        case channelLimit
        /// The Broadcast capability is off.
        case broadcastNotEnabled
        case providerTokenExpired
        case tooManyProviderTokenUpdates
        /// Keys, team, topic: somebody has to fix something.
        case configuration
        case tooLarge
        case later
        /// The request itself is wrong: ours to fix.
        case malformed
    }

    private static let endsConnection: Set<String> = [
        "IdleTimeout", "Shutdown", "TooManyProviderTokenUpdates", "UnrelatedKeyIdInToken",
    ]

    /// Every reason of the pages on pushes, broadcasts and channels, with both spellings where they disagree.
    package static let kinds: [String: Kind] = [
        "BadCertificate": .configuration,
        "BadCertificateEnvironment": .configuration,
        "BadChannelId": .channelGone,
        "BadCollapseId": .malformed,
        "BadDeviceToken": .tokenRefused,
        "BadEnvironmentKeyIdInToken": .configuration,
        "BadEnvironmentKeyInToken": .configuration,  // a library's spelling of the line above
        "BadExpirationDate": .malformed,
        "BadMessageId": .malformed,
        "BadPath": .malformed,
        "BadPriority": .malformed,
        "BadRequestParams": .malformed,
        "BadRequestPayload": .malformed,
        "BadTopic": .configuration,
        "BroadcastFeatureNotEnabled": .broadcastNotEnabled,  // what the service sends
        "CannotCreateChannelConfig": .channelLimit,
        "ChannelNotRegistered": .channelGone,
        "DeviceTokenNotForTopic": .tokenRefused,
        "DuplicateHeaders": .malformed,
        "ExpiredProviderToken": .providerTokenExpired,
        "ExpiredToken": .tokenDead,
        "FeatureNotEnabled": .broadcastNotEnabled,  // what the page says
        "Forbidden": .configuration,
        "IdleTimeout": .later,
        "InternalServerError": .later,
        "InvalidProviderToken": .configuration,
        "InvalidPushType": .malformed,
        "MethodNotAllowed": .malformed,
        "MissingChannelId": .malformed,
        "MissingDeviceToken": .malformed,
        "MissingProviderToken": .configuration,
        "MissingPushType": .malformed,
        "MissingTopic": .malformed,
        "PayloadEmpty": .malformed,
        "PayloadTooLarge": .tooLarge,
        "Service Unavailable": .later,  // the broadcast page's spelling
        "ServiceUnavailable": .later,  // the device page's
        "Shutdown": .later,
        "TooManyProviderTokenUpdates": .tooManyProviderTokenUpdates,
        "TooManyRequests": .later,
        "TopicDisallowed": .configuration,
        "TopicMismatch": .configuration,
        "Unregistered": .tokenDead,
        "UnrelatedKeyIdInToken": .configuration,
    ]
}

extension APNsReason: CustomStringConvertible {
    package var description: String { rawValue }
}
