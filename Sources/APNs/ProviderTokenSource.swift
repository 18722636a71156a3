/// Why there is no provider token.
package enum ProviderTokenError: Error, Equatable, Sendable {
    /// It cannot be read now: asked again until the pushes' deadline.
    case unavailable(String)
    /// The credential is unknown or its key unusable: its pushes end as a matter of configuration.
    case unusable(String)
}

/// How APNs refused a provider token.
package enum ProviderTokenRefusal: Equatable, Sendable {
    case expired
    /// Changed too often on one connection: it is kept, the connection replaced.
    case tooManyUpdates
}

/// Where the pool's provider tokens come from; shared by all processes, and so asked again every minute.
package protocol ProviderTokenSource: Sendable {
    /// The JWT to use now.
    func token(for credential: CredentialID) async throws(ProviderTokenError) -> String

    /// APNs refused this token. The source looks whether there is a newer one, signs anew where
    /// ``ProviderTokenRules`` lets it, and answers the next ``token(for:)`` accordingly.
    func refused(_ token: String, for credential: CredentialID, as refusal: ProviderTokenRefusal) async
}
