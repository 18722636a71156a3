extension Outcome {
    /// What APNs answered, in its own words, for people; nil: it accepted the push.
    ///
    /// Texts of a reason that is new to us stay as they came. `none` says that no answer came, and why.
    package var answer: String? {
        switch self {
        case .accepted: nil
        case .tokenDead: "410 Unregistered"
        case .tokenRefused(let reason), .channelGone(let reason), .broadcastNotEnabled(let reason): reason.rawValue
        case .configuration(let reason): reason.rawValue.isEmpty ? "403 without a reason" : reason.rawValue
        case .providerTokenExpired: "ExpiredProviderToken"
        case .tooManyProviderTokenUpdates: "TooManyProviderTokenUpdates"
        case .tooLarge: "PayloadTooLarge"
        case .later(let after, let reason):
            (reason.rawValue.isEmpty ? "429 or 5xx without a reason" : reason.rawValue) + Self.advice(after)
        case .notProcessed: "none: not processed"
        case .unknown(let text): text.isEmpty ? "none" : "none: \(text)"
        case .refused(let status, let reason): reason.isEmpty ? "status \(status)" : "\(status) \(reason)"
        }
    }

    /// Zero is our own sign for "another connection will do".
    private static func advice(_ after: Duration?) -> String {
        guard let after, after > .zero else { return "" }
        return ", retry-after \(after.components.seconds) s"
    }
}
