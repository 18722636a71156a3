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
    ///
    /// - Returns: Whether it was not stopped before.
    package func stop(
        _ kind: TargetKind,
        of app: AppKey,
        because reason: String,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> Bool {
        let column = kind == .channel ? "channels_stopped" : "tokens_stopped"
        let since = kind == .channel ? "" : ", tokens_stopped_at = clock_timestamp()"
        return try await query(
            """
            UPDATE apps SET \(column) = $4\(since)
            WHERE tenant_id = $1 AND bundle = $2 AND environment = $3 AND \(column) IS NULL
            """,
            [.text(app.tenant), .text(app.bundle), .text(app.environment.rawValue), .text(reason)],
            by: deadline
        ).affectedRows == 1
    }

    /// After token sends of an app go on: tokens that were refused while its environment or topic was wrong get a push of
    /// their own, and so does, at once, whoever waited for one.
    ///
    /// Tokens that were refused long before the stop stay aside. Where nothing had stopped, nothing is done.
    package func revive(_ app: AppKey, by deadline: ContinuousClock.Instant) async throws(StoreError) {
        let key: [PGValue] = [.text(app.tenant), .text(app.bundle), .text(app.environment.rawValue)]
        let ofApp = """
            FROM apps p JOIN matches m ON m.tenant_id = p.tenant_id AND m.bundle = p.bundle
            WHERE p.tenant_id = $1 AND p.bundle = $2 AND p.environment = $3
              AND p.tokens_stopped IS NULL AND p.tokens_stopped_at IS NOT NULL
              AND m.deleted_at IS NULL
            """
        let revived = PGStatement(
            """
            WITH revived AS (
                UPDATE activities a SET refused_reason = NULL, refused_at = NULL,
                    registered_xid = pg_current_xact_id()
                FROM (SELECT m.match_id, m.version, p.tokens_stopped_at - interval '10 minutes' AS since \(ofApp)) p
                WHERE a.tenant_id = $1 AND a.match_id = p.match_id AND a.environment = $3
                  AND a.refused_reason IS NOT NULL AND a.refused_at >= p.since
                RETURNING a.match_id, a.activity, a.cadence, a.shard, p.version)
            INSERT INTO stragglers (tenant_id, match_id, activity, version, environment, cadence, shard)
            SELECT $1, match_id, activity, version, $3, cadence, shard FROM revived WHERE version > 0
            ON CONFLICT (tenant_id, match_id, activity) DO NOTHING
            """,
            key
        )
        let waiting = PGStatement(
            """
            UPDATE stragglers s SET due_at = clock_timestamp()
            FROM (SELECT m.match_id \(ofApp)) p
            WHERE s.tenant_id = $1 AND s.match_id = p.match_id AND s.due_at > clock_timestamp() AND NOT s.is_sending
            """,
            key
        )
        let forget = PGStatement(
            """
            UPDATE apps SET tokens_stopped_at = NULL
            WHERE tenant_id = $1 AND bundle = $2 AND environment = $3 AND tokens_stopped IS NULL
            """,
            key
        )
        _ = try await pipeline([revived, waiting, forget], by: deadline)
    }

    /// After an app's settings changed: what pacing holds back is decided anew, by the settings as they stand.
    package func paceAnew(_ app: AppKey, by deadline: ContinuousClock.Instant) async throws(StoreError) {
        _ = try await query(
            """
            UPDATE targets t SET due_at = CASE WHEN t.due_at IS NOT NULL THEN clock_timestamp() END, routine_gap = 0
            FROM matches m
            WHERE m.tenant_id = $1 AND m.bundle = $2 AND m.deleted_at IS NULL
              AND t.tenant_id = m.tenant_id AND t.match_id = m.match_id AND t.environment = $3
              AND (t.due_at > clock_timestamp() OR t.due_at IS NULL) AND t.backoff = 0
            """,
            [.text(app.tenant), .text(app.bundle), .text(app.environment.rawValue)],
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
