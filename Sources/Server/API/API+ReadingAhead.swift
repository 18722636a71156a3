internal import Core
internal import EventLoop
internal import HTTP2
internal import Store

/// What was read for a call while its key was looked up: worth nothing unless that finds the same tenant.
struct ReadAhead: Sendable {
    let tenant: TenantID
    let match: MatchID
    /// nil: there is no such match.
    let context: EventContext?
}

/// Which tenant a key was last found to be of, by its secret's digest. Whether it still is, and whether it may do anything, is looked up for each call;
/// this says only what is worth reading meanwhile. Holds at most ``limit``.
final class KeyGuesses: Sendable {
    private static let limit = 10_000
    private let tenants = ThreadLock<[[UInt8]: TenantID]>([:])

    func tenant(of secret: KeySecret) -> TenantID? { tenants.withLock { $0[secret.digest] } }

    func note(_ secret: KeySecret, of tenant: TenantID) {
        tenants.withLock { tenants in
            guard tenants[secret.digest] != tenant else { return }
            if tenants.count >= Self.limit { tenants.removeAll() }
            tenants[secret.digest] = tenant
        }
    }
}

extension API {
    /// Reads what an event is checked against, beside the look-up of its key: a lone event waits for one round trip less.
    ///
    /// - Returns: nil where the tenant cannot be guessed, or PostgreSQL does not answer: it is read later then.
    func readAhead(
        _ request: HTTPRequest,
        _ route: Route,
        _ parameters: [String: Substring],
        by deadline: ContinuousClock.Instant
    ) async -> ReadAhead? {
        guard route.readsAhead, let secret = Self.secret(of: request), let tenant = guesses.tenant(of: secret),
            let text = PercentDecoding.decode(parameters["match"] ?? ""), let match = MatchID(validating: text),
            let contexts = try? await store.eventContexts(of: [match], tenant: tenant, by: deadline)
        else { return nil }
        return ReadAhead(tenant: tenant, match: match, context: contexts[match])
    }

    /// The key that a request names, if it names one.
    static func secret(of request: HTTPRequest) -> KeySecret? {
        let parts = (request.fields["authorization"] ?? "").split(separator: " ", omittingEmptySubsequences: true)
        guard parts.count == 2, parts[0].lowercased() == "bearer" else { return nil }
        return KeySecret(String(parts[1]))
    }
}
