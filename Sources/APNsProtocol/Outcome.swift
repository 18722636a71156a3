/// What became of one push.
package enum Outcome: Hashable, Sendable {
    /// 200: APNs has it. No proof that a phone changed. The id is for Apple's delivery log.
    case accepted(uniqueID: String?)
    /// 410: remove the token, unless it was registered after that moment (UNIX milliseconds).
    case tokenDead(asOfMilliseconds: Int64?)
    /// `BadDeviceToken`, `DeviceTokenNotForTopic`: mostly our own environment is wrong.
    case tokenRefused(APNsReason)
    /// `ChannelNotRegistered`, `BadChannelId`.
    case channelGone(APNsReason)
    /// The app's Broadcast capability is off.
    case broadcastNotEnabled(APNsReason)
    case providerTokenExpired
    case tooManyProviderTokenUpdates
    /// 403, `TopicDisallowed` and their like: nothing goes until somebody fixes it.
    case configuration(APNsReason)
    case tooLarge
    /// 429, 500, 503, and what is not APNs' own (``isForeign(status:reason:)``). `after` is APNs' `retry-after`, or zero where another connection will do (`Shutdown`).
    case later(after: Duration?, reason: APNsReason)
    /// REFUSED_STREAM, or above GOAWAY's last stream: APNs never looked at it. Only when the retry budget ended.
    case notProcessed
    /// The request was written and no answer came: it may have arrived. The text says what happened.
    case unknown(String)
    /// Anything else, kept verbatim.
    case refused(status: Int, reason: String)

    /// Classifies an answer, by reason first and status second.
    ///
    /// An empty body, or one that is not JSON, is an answer without a reason.
    ///
    /// - Parameters:
    ///   - status: The answer's.
    ///   - body: The answer's.
    ///   - retryAfter: The header's value, seconds or a date; at most a day of it counts.
    ///   - now: What a date is counted from, UNIX seconds: APNs' own `date` where it sent one.
    ///   - uniqueID: `apns-unique-id`.
    package init(
        status: Int,
        body: [UInt8],
        retryAfter: String? = nil,
        now: @autoclosure () -> Int64 = 0,
        uniqueID: String? = nil
    ) {
        if status == 200 {
            self = .accepted(uniqueID: uniqueID)
        } else {
            self.init(status: status, ErrorAnswer(body), retryAfter: retryAfter, now: now())
        }
    }

    /// Classifies an answer that is not a 200.
    package init(
        status: Int,
        _ answer: ErrorAnswer,
        retryAfter: String? = nil,
        now: @autoclosure () -> Int64 = 0
    ) {
        if Self.isForeign(status: status, reason: answer.reason) {
            self = .later(after: nil, reason: APNsReason(rawValue: "status \(status), which is not APNs'"))
            return
        }
        let reason = APNsReason(rawValue: answer.reason)
        let after = retryAfter.flatMap { Self.duration($0, now: now()) }
        switch reason.kind ?? Self.kind(ofStatus: status) {
        case .tokenDead: self = .tokenDead(asOfMilliseconds: answer.timestamp)
        case .tokenRefused: self = .tokenRefused(reason)
        case .channelGone: self = .channelGone(reason)
        case .broadcastNotEnabled: self = .broadcastNotEnabled(reason)
        case .providerTokenExpired: self = .providerTokenExpired
        case .tooManyProviderTokenUpdates: self = .tooManyProviderTokenUpdates
        case .configuration: self = .configuration(reason)
        case .tooLarge: self = .tooLarge
        case .later: self = .later(after: after ?? (reason.replacesConnection ? .zero : nil), reason: reason)
        case .channelLimit, .malformed, nil: self = .refused(status: status, reason: answer.reason)
        }
    }

    /// Whether an answer is none of APNs': something else answers in its place, a proxy or a portal, and knows nothing of
    /// tokens and keys. Statuses that no page of Apple's names are, and those of 400 to 499 among them only without a reason.
    package static func isForeign(status: Int, reason: @autoclosure () -> String) -> Bool {
        switch status {
        case 200, 400, 403, 404, 405, 410, 413, 429, 500...599: false
        case 400...499: reason().isEmpty
        default: true
        }
    }

    /// The class of an answer whose reason is missing or new.
    private static func kind(ofStatus status: Int) -> APNsReason.Kind? {
        switch status {
        case 403: .configuration
        case 410: .tokenDead
        case 413: .tooLarge
        case 429, 500...599: .later
        default: nil
        }
    }

    private static func duration(_ retryAfter: String, now: @autoclosure () -> Int64) -> Duration? {
        if let seconds = Int64(retryAfter) { return seconds >= 0 ? .seconds(min(seconds, 86_400)) : nil }
        return HTTPDate.seconds(retryAfter).map { .seconds(min(max(0, $0 - now()), 86_400)) }
    }
}
