extension ReasonGuide {
    /// About keys and provider tokens.
    static let authentication = [
        ReasonGuide(
            "BadCertificate",
            403,
            .providerTokens,
            cause: "A client certificate was presented, and is not good. Touchline presents none.",
            remedy: "Look for a proxy between Touchline and APNs that presents one."
        ),
        ReasonGuide(
            "BadCertificateEnvironment",
            403,
            .providerTokens,
            cause: "A client certificate of the other environment was presented. Touchline presents none.",
            remedy: "Look for a proxy between Touchline and APNs that presents one."
        ),
        ReasonGuide(
            "BadEnvironmentKeyIdInToken",
            403,
            .environments,
            cause: "The key was made for the other environment.",
            remedy: "Make a key for this environment, or one for both, in the developer account; set it with "
                + "`touchline app set`."
        ),
        ReasonGuide(
            "BadEnvironmentKeyInToken",
            403,
            .environments,
            cause: "The key was made for the other environment (another spelling of BadEnvironmentKeyIdInToken).",
            remedy: "Make a key for this environment, or one for both, in the developer account; set it with "
                + "`touchline app set`."
        ),
        ReasonGuide(
            "ExpiredProviderToken",
            403,
            .clock,
            cause:
                "The provider token is more than an hour old by APNs' clock. Touchline signs one every 50 minutes, so "
                + "this machine's clock is wrong.",
            remedy: "Set the clock (chrony, systemd-timesyncd), then `touchline doctor`."
        ),
        ReasonGuide(
            "Forbidden",
            403,
            .providerTokens,
            cause: "The action is not allowed; mostly the key has been revoked.",
            remedy: "Make a new key in the developer account, and set it with `touchline app set`."
        ),
        ReasonGuide(
            "InvalidProviderToken",
            403,
            .providerTokens,
            cause: "Team id, key id and .p8 do not belong together, or the key is unknown to Apple.",
            remedy: "Compare the key id with the file's name (AuthKey_<key id>.p8) and the team id with the membership "
                + "page; then `touchline app set` with all three."
        ),
        ReasonGuide(
            "MissingProviderToken",
            403,
            .providerTokens,
            cause: "The authorization header is missing or empty.",
            remedy: "Look for a proxy that strips it; Touchline always sends one."
        ),
        ReasonGuide(
            "TooManyProviderTokenUpdates",
            429,
            .providerTokens,
            cause: "The provider token changed more than once in 20 minutes on one connection.",
            remedy:
                "Nothing, once in a while. Often: look for another program that signs with the same key through the "
                + "same connections."
        ),
        ReasonGuide(
            "TopicMismatch",
            403,
            .topics,
            cause: "The bundle id in the path is not covered by the key.",
            remedy: "Use a key of the team that owns the app; a topic-specific key must list it."
        ),
        ReasonGuide(
            "UnrelatedKeyIdInToken",
            403,
            .providerTokens,
            cause: "The key is not related to the one that this connection was opened with.",
            remedy: "Nothing: another connection is opened. If it stays, the key's topics do not cover the bundle id."
        ),
    ]

    /// About broadcast channels.
    static let channels = [
        ReasonGuide(
            "BadChannelId",
            400,
            .channels,
            cause: "The channel's id is not encoded as APNs returned it, or there never was such a channel.",
            remedy: "Use the id of `touchline channel show MATCH`, base64 with its padding, in the right environment."
        ),
        ReasonGuide(
            "BadRequestParams",
            400,
            .malformed,
            cause: "The request to make a channel has an attribute that APNs does not know.",
            remedy: "Send message-storage-policy and push-type, and nothing else."
        ),
        ReasonGuide(
            "BadRequestPayload",
            400,
            .malformed,
            cause: "The request to make a channel is not JSON.",
            remedy: "Send {\"message-storage-policy\":1,\"push-type\":\"LiveActivity\"}."
        ),
        ReasonGuide(
            "BroadcastFeatureNotEnabled",
            400,
            .broadcastOff,
            cause: "The App ID does not have the Broadcast capability.",
            remedy: "Switch on Broadcast under Certificates, Identifiers & Profiles › Identifiers › the App ID › Push "
                + "Notifications, then `touchline app change … --go-on`. Channels from before are gone."
        ),
        ReasonGuide(
            "CannotCreateChannelConfig",
            400,
            .channels,
            cause: "The app has 10,000 channels in this environment, which is the limit.",
            remedy: "Delete channels of matches that are over, and those that no match knows."
        ),
        ReasonGuide(
            "ChannelNotRegistered",
            400,
            .channels,
            cause:
                "The channel was deleted, or belongs to another app or environment. Switching the Broadcast capability "
                + "off deletes all channels.",
            remedy: "Start activities on the channel of `touchline channel show MATCH`."
        ),
        ReasonGuide(
            "FeatureNotEnabled",
            400,
            .broadcastOff,
            cause: "The App ID does not have the Broadcast capability (the spelling of Apple's page).",
            remedy: "Switch on Broadcast under Certificates, Identifiers & Profiles › Identifiers › the App ID › Push "
                + "Notifications, then `touchline app change … --go-on`. Channels from before are gone."
        ),
        ReasonGuide(
            "MissingChannelId",
            400,
            .malformed,
            cause: "apns-channel-id is missing.",
            remedy: "Send the channel's id in that header, never in the path."
        ),
    ]

    /// About APNs itself, and where requests go.
    static let service = [
        ReasonGuide(
            "BadPath",
            404,
            .malformed,
            cause: "APNs has no such path or method; for the deletion of a channel: it was gone already.",
            remedy:
                "Check that pushes go to a push host and calls about channels to a management host: `touchline doctor`."
        ),
        ReasonGuide(
            "IdleTimeout",
            400,
            .outages,
            cause: "APNs closed a connection that was idle.",
            remedy: "Nothing: another connection is opened."
        ),
        ReasonGuide(
            "InternalServerError",
            500,
            .outages,
            cause: "Something went wrong within APNs.",
            remedy: "Wait; look at Apple's system status page if it stays."
        ),
        ReasonGuide(
            "MethodNotAllowed",
            405,
            .malformed,
            cause: "The request is no POST.",
            remedy: "Look for a proxy that changes methods; Touchline sends POST."
        ),
        ReasonGuide(
            "Service Unavailable",
            503,
            .outages,
            cause: "APNs is unavailable (the spelling of Apple's page on broadcasts).",
            remedy: "Wait; look at Apple's system status page if it stays."
        ),
        ReasonGuide(
            "ServiceUnavailable",
            503,
            .outages,
            cause: "APNs is unavailable.",
            remedy: "Wait; look at Apple's system status page if it stays."
        ),
        ReasonGuide(
            "Shutdown",
            503,
            .outages,
            cause: "The server of APNs that this connection leads to shuts down.",
            remedy: "Nothing: another connection is opened."
        ),
    ]
}
