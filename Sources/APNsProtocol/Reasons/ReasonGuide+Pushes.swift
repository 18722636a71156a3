extension ReasonGuide {
    /// About tokens, headers and payloads of pushes.
    static let pushes = [
        ReasonGuide(
            "BadCollapseId",
            400,
            .malformed,
            cause: "apns-collapse-id is longer than 64 bytes.",
            remedy: "Shorten it; an update or an end needs none."
        ),
        ReasonGuide(
            "BadDeviceToken",
            400,
            .environments,
            cause: "The token is malformed, or it belongs to the other environment: builds from Xcode have sandbox "
                + "tokens, TestFlight and the App Store production ones.",
            remedy:
                "Register the token with the environment of the build that it came from. If all tokens of an app are "
                + "refused, its environment is wrong."
        ),
        ReasonGuide(
            "BadExpirationDate",
            400,
            .expirations,
            cause: "apns-expiration is missing or no number of UNIX seconds; or it is not 0 on a channel that stores "
                + "nothing (storage policy 0).",
            remedy: "Send 0, or on a channel of policy 1 a time at most 8 hours ahead."
        ),
        ReasonGuide(
            "BadMessageId",
            400,
            .malformed,
            cause: "apns-id (on broadcasts apns-request-id) is no UUID of the form 8-4-4-4-12.",
            remedy: "Send a UUID, or leave the header out."
        ),
        ReasonGuide(
            "BadPriority",
            400,
            .malformed,
            cause: "apns-priority is none of 10, 5 and 1, or is missing on a broadcast. Live Activities take 10 and 5.",
            remedy: "Send 10 for what a person must see now, 5 for the rest."
        ),
        ReasonGuide(
            "BadTopic",
            400,
            .topics,
            cause: "apns-topic is not of the form <bundle id>.push-type.liveactivity.",
            remedy: "Set the app under its own bundle id, without a suffix: Touchline adds it."
        ),
        ReasonGuide(
            "DeviceTokenNotForTopic",
            400,
            .topics,
            cause: "The token belongs to another app: often the widget extension's bundle id was taken for the app's.",
            remedy: "Use the bundle id of the app that started the activity, not of its extension."
        ),
        ReasonGuide(
            "DuplicateHeaders",
            400,
            .malformed,
            cause: "A header stands twice in the request.",
            remedy: "Look for a proxy that adds headers; Touchline sends each once."
        ),
        ReasonGuide(
            "ExpiredToken",
            410,
            .tokensEnd,
            cause: "The token has expired: the activity is over, or older than eight hours.",
            remedy: "Forget the token. The app has to start another activity and register its token."
        ),
        ReasonGuide(
            "InvalidPushType",
            400,
            .malformed,
            cause: "apns-push-type is not “liveactivity”, or does not fit the topic.",
            remedy: "Send liveactivity, in lower case, with a topic that ends in .push-type.liveactivity."
        ),
        ReasonGuide(
            "MissingDeviceToken",
            400,
            .malformed,
            cause: "The path names no token: /3/device/<token>.",
            remedy: "Put the token into the path, in hexadecimal."
        ),
        ReasonGuide(
            "MissingPushType",
            400,
            .malformed,
            cause: "apns-push-type is missing.",
            remedy: "Send apns-push-type: liveactivity."
        ),
        ReasonGuide(
            "MissingTopic",
            400,
            .topics,
            cause: "apns-topic is missing; with a .p8 key it is required.",
            remedy: "Send <bundle id>.push-type.liveactivity."
        ),
        ReasonGuide(
            "PayloadEmpty",
            400,
            .malformed,
            cause: "The request has no body.",
            remedy: "Send {\"aps\":{…}}."
        ),
        ReasonGuide(
            "PayloadTooLarge",
            413,
            .tooBig,
            cause: "The body exceeds 4,096 bytes to a token, or 5,120 to a channel.",
            remedy: "Shorten the content state; leave out what the phone can work out itself."
        ),
        ReasonGuide(
            "TooManyRequests",
            429,
            .throttled,
            cause: "Too many pushes to one token in a row, or to one channel, or too many calls about channels.",
            remedy: "Send less often to the same phone; let the app's pacing be."
        ),
        ReasonGuide(
            "TopicDisallowed",
            400,
            .topics,
            cause: "The key may not push to this topic; on broadcasts the path has a suffix behind the bundle id.",
            remedy:
                "Check that the key covers the bundle id (a topic-specific key lists its topics), and that the bundle "
                + "id is bare."
        ),
        ReasonGuide(
            "Unregistered",
            410,
            .tokensEnd,
            cause: "The token is no longer active: the app was deleted, or the activity ended.",
            remedy: "Forget the token; the app registers a new one if there is an activity."
        ),
    ]
}
