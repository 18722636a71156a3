/// What one of APNs' reasons means to the person who reads it.
package struct ReasonGuide: Sendable {
    package let reason: String
    /// The status that it comes with.
    package let status: Int
    /// Why APNs says so.
    package let cause: String
    /// What to do about it.
    package let remedy: String
    /// The section of TROUBLES.md that says more.
    package let trouble: Trouble

    init(_ reason: String, _ status: Int, _ trouble: Trouble, cause: String, remedy: String) {
        self.reason = reason
        self.status = status
        self.cause = cause
        self.remedy = remedy
        self.trouble = trouble
    }

    /// What Touchline does by itself, for each kind of reason.
    package var handling: String {
        switch APNsReason(rawValue: reason).kind {
        case .tokenDead:
            "Not sent again. The token is removed, unless the phone registered it anew after the time in the answer."
        case .tokenRefused:
            "Not sent again. The token is set aside until it is registered anew. When more than half of at least 50 "
                + "tokens are refused within five minutes, the app's token sends stop with this reason."
        case .channelGone:
            "The channel is read; if it is gone, it is replaced, at most once an hour. Phones that listen to the old "
                + "one are lost to it."
        case .channelLimit:
            "Tried again later; phones get their updates by token meanwhile, where the app registers tokens."
        case .broadcastNotEnabled:
            "Not sent again: the app's channels stop with this reason, until `touchline app change … --go-on`."
        case .providerTokenExpired:
            "Sent again once, with the newest token; signed anew only when the old one is 20 minutes old."
        case .tooManyProviderTokenUpdates:
            "Sent again with the same token, over a new connection."
        case .configuration:
            "Not sent again: the app's work stops with this reason, until a new credential is set or "
                + "`touchline app change … --go-on`."
        case .tooLarge:
            "Not sent again before the next version. Events are checked for their size before they are accepted."
        case .later:
            APNsReason(rawValue: reason).replacesConnection
                ? "Sent again at once, over another connection."
                : "Sent again: urgent pushes after two seconds, then as Apple asks (15 minutes, doubling), or when "
                    + "APNs says so in retry-after. A newer version may go at once."
        case .malformed, nil:
            "Not sent again before the next version; counted as refused, under this reason."
        }
    }

    /// All of them, by name.
    package static let all: [ReasonGuide] = (pushes + authentication + channels + service).sorted {
        $0.reason < $1.reason
    }

    /// The guide to a reason, in whatever case it is typed; `Service Unavailable` with or without its space.
    package init?(_ reason: String) {
        func folded(_ text: String) -> String { text.lowercased().filter { $0 != " " } }
        let exact = Self.all.first { $0.reason == reason }
        guard let found = exact ?? Self.all.first(where: { folded($0.reason) == folded(reason) }) else { return nil }
        self = found
    }
}
