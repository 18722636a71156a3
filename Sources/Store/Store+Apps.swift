internal import APNsProtocol
package import Core
internal import PostgreSQL

extension Store {
    /// Creates or replaces an app. Another credential gets another number, so that no connection or provider token of
    /// the old one is used again; whatever had stopped goes on.
    package func putApp(
        _ key: AppKey,
        credential: AppCredential,
        settings: AppSettings,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> (app: AppRecord, isNew: Bool) {
        let results = try await tenant(
            key.tenant,
            by: deadline,
            [
                PGStatement(
                    Self.putAppSQL,
                    key.parameters + [
                        .text(credential.team), .text(credential.key), .bytes(credential.p8Ciphertext),
                        .text(credential.fingerprint),
                    ] + settings.parameters
                ),
                Self.planChannels(tenant: key.tenant, bundle: key.bundle),
                Self.planStarts(tenant: key.tenant, bundle: key.bundle),
                Self.lookAtSilence(of: key),
            ]
        )
        let row = results[0][0]
        return (AppRecord(row, tenant: key.tenant), row.bool(21))
    }

    /// Changes settings, pause and stops; nil if there is no such app.
    ///
    /// `change` is applied to the settings as they stand, under the row's lock. `isPaused` is nil to leave the pause as
    /// it is; `resumes` lets go on what had stopped.
    package func changeApp(
        _ key: AppKey,
        isPaused: Bool?,
        resumes: Bool,
        by deadline: ContinuousClock.Instant,
        _ change: @Sendable (inout AppSettings) -> Void
    ) async throws(StoreError) -> AppRecord? {
        try await tenantTransaction(key.tenant, by: deadline) { connection in
            let select = """
                SELECT \(AppRecord.columns) FROM apps
                WHERE tenant_id = $1 AND bundle = $2 AND environment = $3 FOR UPDATE
                """
            guard let row = try await connection.query(select, key.parameters, by: deadline).first else { return nil }
            let former = AppRecord(row, tenant: key.tenant).settings
            var settings = former
            change(&settings)
            let changesSilence = settings.endsAfterSilence != former.endsAfterSilence
            let changed = try await connection.query(
                Self.changeAppSQL,
                key.parameters + settings.parameters + [.bool(isPaused), .bool(resumes)],
                by: deadline
            )
            let channels = Self.planChannels(tenant: key.tenant, bundle: key.bundle)
            let starts = Self.planStarts(tenant: key.tenant, bundle: key.bundle)
            if isPaused == false || resumes {
                let sql = """
                    \(Self.resumeStarts) AND tenant_id = $1 AND environment = $3
                      AND match_id IN (SELECT match_id FROM matches WHERE tenant_id = $1 AND bundle = $2)
                    """
                _ = try await connection.query(sql, key.parameters, by: deadline)
            }
            let silence = Self.lookAtSilence(of: key)
            for plan in [channels, starts] + (changesSilence ? [silence] : []) {
                _ = try await connection.query(plan.sql, plan.parameters, by: deadline)
            }
            return AppRecord(changed[0], tenant: key.tenant)
        }
    }

    package func app(_ key: AppKey, by deadline: ContinuousClock.Instant) async throws(StoreError) -> AppRecord? {
        try await tenant(
            key.tenant,
            by: deadline,
            "SELECT \(AppRecord.columns) FROM apps WHERE tenant_id = $1 AND bundle = $2 AND environment = $3",
            key.parameters
        ).first.map { AppRecord($0, tenant: key.tenant) }
    }

    /// A tenant's apps, by bundle and environment.
    package func apps(
        of tenant: TenantID,
        after: (bundle: String, environment: String)?,
        limit: Int,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> Page<AppRecord> {
        let rows = try await self.tenant(
            tenant,
            by: deadline,
            """
            SELECT \(AppRecord.columns) FROM apps
            WHERE tenant_id = $1 AND ($2::text IS NULL OR (bundle, environment) > ($2, $3::text))
            ORDER BY bundle, environment LIMIT $4
            """,
            [.text(tenant), .text(after?.bundle), .text(after?.environment), .int(limit + 1)]
        ).map { AppRecord($0, tenant: tenant) }
        return Page(rows, limit: limit)
    }

    private static let putAppSQL = """
        INSERT INTO apps AS a (tenant_id, bundle, environment, team_id, key_id, p8_ciphertext, key_fingerprint,
            frequent_updates_declared, channels, tokens, storage_policy, frequent_gap_seconds, frequent_urgent_per_hour,
            standard_gap_seconds, standard_urgent_per_hour, stale_after, channel_lead, channel_linger, start_lead,
            ends_after_silence)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20)
        ON CONFLICT (tenant_id, bundle, environment) DO UPDATE SET
            credential_id = CASE WHEN \(sameCredential) THEN a.credential_id ELSE excluded.credential_id END,
            provider_token_ciphertext = CASE WHEN \(sameCredential) THEN a.provider_token_ciphertext END,
            provider_token_issued_at = CASE WHEN \(sameCredential) THEN a.provider_token_issued_at END,
            team_id = excluded.team_id, key_id = excluded.key_id, p8_ciphertext = excluded.p8_ciphertext,
            key_fingerprint = excluded.key_fingerprint,
            frequent_updates_declared = excluded.frequent_updates_declared, channels = excluded.channels,
            tokens = excluded.tokens, storage_policy = excluded.storage_policy,
            frequent_gap_seconds = excluded.frequent_gap_seconds,
            frequent_urgent_per_hour = excluded.frequent_urgent_per_hour,
            standard_gap_seconds = excluded.standard_gap_seconds,
            standard_urgent_per_hour = excluded.standard_urgent_per_hour, stale_after = excluded.stale_after,
            channel_lead = excluded.channel_lead, channel_linger = excluded.channel_linger,
            start_lead = excluded.start_lead, ends_after_silence = excluded.ends_after_silence, tokens_stopped = NULL, channels_stopped = NULL, updated_at = now()
        RETURNING \(AppRecord.columns), xmax = 0
        """

    /// Has the housekeeper look at matches under way, which another `ends_after_silence` may end at another time.
    private static func lookAtSilence(of app: AppKey) -> PGStatement {
        PGStatement(
            """
            UPDATE matches SET housekeep_at = least(housekeep_at, now())
            WHERE tenant_id = $1 AND bundle = $2 AND deleted_at IS NULL AND end_version IS NULL AND end_due_at IS NULL
              AND ends_after_silence IS NULL AND kickoff_at <= now() AND housekeep_at > now()
            """,
            [.text(app.tenant), .text(app.bundle)]
        )
    }

    private static let sameCredential =
        "(a.team_id, a.key_id, a.key_fingerprint) = (excluded.team_id, excluded.key_id, excluded.key_fingerprint)"

    private static let changeAppSQL = """
        UPDATE apps SET
            frequent_updates_declared = $4, channels = $5, tokens = $6, storage_policy = $7,
            frequent_gap_seconds = $8, frequent_urgent_per_hour = $9, standard_gap_seconds = $10,
            standard_urgent_per_hour = $11, stale_after = $12, channel_lead = $13, channel_linger = $14,
            start_lead = $15, ends_after_silence = $16, paused_at = CASE
                WHEN $17::boolean IS NULL THEN paused_at WHEN $17 THEN coalesce(paused_at, now()) END,
            tokens_stopped = CASE WHEN $18::boolean THEN NULL ELSE tokens_stopped END,
            channels_stopped = CASE WHEN $18 THEN NULL ELSE channels_stopped END, updated_at = now()
        WHERE tenant_id = $1 AND bundle = $2 AND environment = $3
        RETURNING \(AppRecord.columns)
        """
}

extension AppSettings {
    /// In the order of the columns from `frequent_updates_declared` on.
    fileprivate var parameters: [PGValue] {
        [
            .bool(frequentUpdatesDeclared), .text(channels.rawValue), .bool(tokens), .int(storagePolicy.rawValue),
            .int(frequent.gapSeconds), .int(frequent.urgentPerHour), .int(standard.gapSeconds),
            .int(standard.urgentPerHour), .int(staleAfter), .int(channelLead), .int(channelLinger), .int(startLead),
            .int(endsAfterSilence),
        ]
    }
}
