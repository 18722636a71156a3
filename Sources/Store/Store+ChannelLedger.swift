package import APNsProtocol
package import Core
internal import PostgreSQL

/// A channel that was made here, as the books have it.
package struct LedgerEntry: Sendable {
    package let app: AppKey
    package let id: ChannelID
    package let match: MatchID
    package let cadence: Cadence
    /// Its match's channel now; nil: it is another's place, or nobody's.
    package let current: ChannelRecord?
    /// Its match has neither ended nor been deleted.
    package let isMatchLive: Bool
    /// APNs has said that it is gone.
    package let isGone: Bool
}

extension Store {
    /// The channels that were made for an app, the newest first: all that APNs may still have, and those that went lately.
    package func channelLedger(
        of app: AppKey,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> [LedgerEntry] {
        try await ledger("i.bundle = $2 AND i.environment = $3", app.parameters, tenant: app.tenant, by: deadline)
    }

    /// A tenant's channels of this id: one, but for other apps or environments where chance had it so.
    package func channelLedger(
        of tenant: TenantID,
        id: ChannelID,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> [LedgerEntry] {
        try await ledger("i.channel_id = $2", [.text(tenant), .text(id)], tenant: tenant, by: deadline)
    }

    private func ledger(
        _ condition: String,
        _ parameters: [PGValue],
        tenant: TenantID,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> [LedgerEntry] {
        try await self.tenant(
            tenant,
            by: deadline,
            """
            SELECT i.bundle, i.environment, i.channel_id, i.match_id, i.cadence, i.gone_at IS NOT NULL,
                   m.match_id IS NOT NULL AND m.deleted_at IS NULL AND m.end_version IS NULL,
                   c.match_id IS NOT NULL, \(ChannelRecord.columns)
            FROM channel_ids i
            LEFT JOIN matches m ON m.tenant_id = i.tenant_id AND m.match_id = i.match_id
            LEFT JOIN channels c ON (c.tenant_id, c.match_id, c.environment, c.cadence, c.channel_id, c.bundle)
                = (i.tenant_id, i.match_id, i.environment, i.cadence, i.channel_id, i.bundle) AND c.state = 'open'
            WHERE i.tenant_id = $1 AND \(condition)
            ORDER BY i.opened_at DESC, i.channel_id
            """,
            parameters
        ).map { row in
            LedgerEntry(
                app: AppKey(tenant: tenant, bundle: row.wrapped(0), environment: row.value(1)),
                id: row.wrapped(2),
                match: row.wrapped(3),
                cadence: row.value(4),
                current: row.bool(7) ? ChannelRecord(row, from: 8) : nil,
                isMatchLive: row.bool(6),
                isGone: row.bool(5)
            )
        }
    }

    /// Records that APNs no longer has a channel that was no match's any more.
    package func orphanDeleted(
        _ id: ChannelID,
        of app: AppKey,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) {
        _ = try await query(
            """
            UPDATE channel_ids SET gone_at = now()
            WHERE tenant_id = $1 AND bundle = $2 AND environment = $3 AND channel_id = $4
            """,
            app.parameters + [.text(id)],
            by: deadline
        )
    }

    /// Has a match's channels made at once, whatever the app's lead.
    ///
    /// - Parameters:
    ///   - match: Whose.
    ///   - environment: Only there; nil: in all.
    ///   - deadline: For the statement.
    /// - Returns: Its channels.
    /// - Throws: ``StoreError``.
    package func makeChannelsNow(
        of match: MatchKey,
        in environment: APNsEnvironment?,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> [ChannelRecord] {
        let parameters = match.parameters + [.text(environment?.rawValue)]
        return try await tenant(
            match.tenant,
            by: deadline,
            [
                PGStatement(
                    """
                    UPDATE channels SET next_at = now(), attempts = 1
                    WHERE tenant_id = $1 AND match_id = $2 AND ($3::text IS NULL OR environment = $3)
                      AND state = 'pending' AND creating_at IS NULL AND (next_at > now() OR next_at IS NULL)
                    """,
                    parameters
                ),
                PGStatement(
                    """
                    SELECT \(ChannelRecord.columns) FROM channels c
                    WHERE c.tenant_id = $1 AND c.match_id = $2 AND ($3::text IS NULL OR c.environment = $3)
                    ORDER BY c.environment, c.cadence
                    """,
                    parameters
                ),
            ]
        )[1].map { ChannelRecord($0) }
    }

    /// A tenant's app and the number of its credential; nil: there is none.
    package func credentialNumber(
        of app: AppKey,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> Int64? {
        try await tenant(
            app.tenant,
            by: deadline,
            "SELECT credential_id FROM apps WHERE tenant_id = $1 AND bundle = $2 AND environment = $3",
            app.parameters
        ).first?.int(0)
    }
}
