/// When a provider token is signed anew. Source: Apple, "Establishing a token-based connection to APNs": at least every
/// 60 minutes, at most every 20.
package enum ProviderTokenRules {
    /// A token is signed anew at this age.
    package static let renewalAge: Duration = .seconds(50 * 60)
    /// Never twice within this, whatever APNs says.
    package static let leastAge: Duration = .seconds(20 * 60)

    /// What to do about a token that is wanted or was refused.
    package enum Decision: Equatable, Sendable {
        case use
        case sign
        /// APNs calls a token expired that is too young for that: one of the clocks is wrong, and a new token would be
        /// refused as well, for having been changed too often.
        case clockIsWrong
    }

    /// - Parameters:
    ///   - issuedAt: The token's `iat`, UNIX seconds; `nil` without a token.
    ///   - now: UNIX seconds.
    ///   - wasRefused: APNs has answered `ExpiredProviderToken` to this very token.
    /// - Returns: What to do.
    package static func decide(issuedAt: Int64?, now: Int64, wasRefused: Bool = false) -> Decision {
        guard let issuedAt else { return .sign }
        let age = Duration.seconds(now - issuedAt)
        // From the future: the clock has been set back since, and APNs would refuse it.
        if age < .zero - .seconds(60) { return .sign }
        if wasRefused { return age >= leastAge ? .sign : .clockIsWrong }
        return age >= renewalAge ? .sign : .use
    }
}

/// Which provider tokens one connection may carry: APNs refuses a change within 20 minutes of the last.
struct ConnectionTokenRule {
    private var generation: Int?
    private var changedAt: ContinuousClock.Instant?

    /// Whether a request with this token may go out on the connection; if so, it counts as sent.
    mutating func mayCarry(generation: Int, now: ContinuousClock.Instant) -> Bool {
        if generation == self.generation { return true }
        if let changedAt, now - changedAt < ProviderTokenRules.leastAge { return false }
        self.generation = generation
        changedAt = now
        return true
    }
}
