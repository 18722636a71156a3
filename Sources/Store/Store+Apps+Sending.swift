package import APNsProtocol
package import Core
internal import PostgreSQL

/// What signs an app's provider tokens.
package struct StoredCredential: Sendable {
    package let app: AppKey
    package let team: TeamID
    package let key: KeyID
    package let p8Ciphertext: [UInt8]
    /// The JWT in use by all processes, encrypted; nil: none was signed yet.
    package let tokenCiphertext: [UInt8]?
    package let tokenIssuedAt: Moment?
    /// The database's clock.
    package let now: Moment
}

// What sending changes of an app.
extension Store {
    /// Stops an app's token sends or channel work, with a reason that names what to fix.
    package func stop(
        _ kind: TargetKind,
        of app: AppKey,
        because reason: String,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) {
        let column = kind == .channel ? "channels_stopped" : "tokens_stopped"
        _ = try await query(
            """
            UPDATE apps SET \(column) = $4
            WHERE tenant_id = $1 AND bundle = $2 AND environment = $3 AND \(column) IS NULL
            """,
            [.text(app.tenant), .text(app.bundle), .text(app.environment.rawValue), .text(reason)],
            by: deadline
        )
    }

    package func credential(
        _ number: Int64,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> StoredCredential? {
        try await query(
            """
            SELECT tenant_id, bundle, environment, team_id, key_id, p8_ciphertext, provider_token_ciphertext,
                   provider_token_issued_at, clock_timestamp()
            FROM apps WHERE credential_id = $1
            """,
            [.int(number)],
            by: deadline
        ).first.map { row in
            StoredCredential(
                app: AppKey(tenant: row.wrapped(0), bundle: row.wrapped(1), environment: row.value(2)),
                team: row.wrapped(3),
                key: row.wrapped(4),
                p8Ciphertext: row.bytes(5),
                tokenCiphertext: row.optionalBytes(6),
                tokenIssuedAt: row.optionalMoment(7),
                now: row.moment(8)
            )
        }
    }

    /// Stores a newly signed provider token, unless another process was quicker.
    ///
    /// - Parameters:
    ///   - number: The credential.
    ///   - ciphertext: The JWT, encrypted.
    ///   - issuedAt: Its own `iat`.
    ///   - known: Of the token that it replaces.
    ///   - deadline: For the statement.
    /// - Returns: Whether it was stored; if not, the stored one is to be read.
    /// - Throws: ``StoreError``.
    package func storeProviderToken(
        for number: Int64,
        _ ciphertext: [UInt8],
        issuedAt: Moment,
        replacing known: Moment?,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> Bool {
        try await query(
            """
            UPDATE apps SET provider_token_ciphertext = $2, provider_token_issued_at = $3
            WHERE credential_id = $1 AND provider_token_issued_at IS NOT DISTINCT FROM $4::timestamptz
            """,
            [.int(number), .bytes(ciphertext), .moment(issuedAt), .moment(known)],
            by: deadline
        ).affectedRows == 1
    }
}
