package import APNsProtocol

/// What is done about a push's outcome.
package enum Disposition: Equatable, Sendable {
    case accepted
    /// Remove the token, if it was registered before that moment; nil: in any case.
    case removeToken(asOf: Moment?)
    /// Set the token aside, with APNs' reason.
    case setTokenAside(reason: String)
    /// The channel is to be read, and replaced if it is gone.
    case checkChannel(reason: String)
    /// The app's work of this kind stops. The text names what to fix.
    case stopApp(because: String)
    case retry(RetryRule.Failure)
    /// Nothing helps before the next version.
    case giveUp(reason: String)

    package init(_ outcome: Outcome) {
        switch outcome {
        case .accepted:
            self = .accepted
        case .tokenDead(let milliseconds):
            self = .removeToken(asOf: milliseconds.map(Moment.init(milliseconds:)))
        case .tokenRefused(let reason):
            self = .setTokenAside(reason: reason.rawValue)
        case .channelGone(let reason):
            self = .checkChannel(reason: reason.rawValue)
        case .broadcastNotEnabled(let reason):
            self = .stopApp(
                because: "\(reason): switch Broadcast on for the App ID under Certificates, Identifiers & Profiles; "
                    + "channels that existed before are gone"
            )
        case .providerTokenExpired:
            // The pool has read and signed anew by itself; what is left is a clock that is wrong.
            self = .retry(.later(after: .seconds(5)))
        case .tooManyProviderTokenUpdates:
            self = .retry(.later(after: .seconds(2)))
        case .configuration(let reason):
            self = .stopApp(because: Self.advice(reason))
        case .tooLarge:
            self = .giveUp(reason: "PayloadTooLarge")
        case .later(let after, _):
            self = .retry(.later(after: after))
        case .notProcessed:
            self = .retry(.notProcessed)
        case .unknown:
            self = .retry(.unknown)
        case .refused(let status, let reason):
            self = .giveUp(reason: reason.isEmpty ? "status \(status)" : reason)
        }
    }

    private static func advice(_ reason: APNsReason) -> String {
        let advice =
            switch reason.rawValue {
            case "InvalidProviderToken": "check team id, key id and .p8: they do not belong together"
            case "TopicDisallowed", "BadTopic", "TopicMismatch": "check the bundle id, and that the key covers it"
            case "BadEnvironmentKeyIdInToken", "BadEnvironmentKeyInToken": "the key is one of the other environment"
            case "Forbidden": "the key may have been revoked; set a new credential"
            default: "check the app's credential"
            }
        return "\(reason): \(advice)"
    }
}
