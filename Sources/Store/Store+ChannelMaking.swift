package import APNsProtocol
internal import Core
internal import PostgreSQL

/// Who makes the channels of a bundle just now, and what it knew when it began.
package struct ChannelMakerLease: Sendable {
    /// One of those with the bundle.
    package let app: AppKey
    package let owner: String
    /// Ids at APNs that were not ours when the last creations were begun.
    package let strangers: Set<String>
}

// One process at a time makes the channels of a bundle, whichever tenants have it. A creation is put down before it is asked for: if its answer is lost,
// or the process with it, the channel that appeared meanwhile is looked for before another one is made.
extension Store {
    /// Becomes the one that makes the channels of an app, and of other tenants' apps with its bundle.
    ///
    /// - Parameters:
    ///   - app: Whose channels.
    ///   - owner: Names this process and tenant; who has the lease already gets it anew.
    ///   - lease: For how long.
    ///   - deadline: For the statement.
    /// - Returns: nil: another process does it.
    /// - Throws: ``StoreError``.
    package func beginMaking(
        _ app: AppKey,
        owner: String,
        lease: Duration,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> ChannelMakerLease? {
        try await query(
            """
            INSERT INTO channel_makers AS c (bundle, environment, lease_owner, lease_until)
            VALUES ($1, $2, $3, now() + make_interval(secs => $4))
            ON CONFLICT (bundle, environment) DO UPDATE
            SET lease_owner = excluded.lease_owner, lease_until = excluded.lease_until
            WHERE c.lease_until IS NULL OR c.lease_until < now() OR c.lease_owner = excluded.lease_owner
            RETURNING strangers
            """,
            app.bundleParameters + [.text(owner), .seconds(lease)],
            by: deadline
        ).first.map { row in
            ChannelMakerLease(app: app, owner: owner, strangers: Set(row.textArray(0).compactMap { $0 }))
        }
    }

    /// Keeps what is known of other people's channels, and the lease for as long again, unless another process has it by now.
    package func goOnMaking(
        _ lease: ChannelMakerLease,
        strangers: Set<String>,
        lease length: Duration,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) {
        _ = try await query(
            """
            UPDATE channel_makers SET strangers = $4::text[], lease_until = now() + make_interval(secs => $5)
            WHERE bundle = $1 AND environment = $2 AND lease_owner = $3
            """,
            lease.app.bundleParameters + [
                .text(lease.owner), .textArray(strangers.sorted()), .seconds(length),
            ],
            by: deadline
        )
    }

    /// Gives the lease back.
    package func endMaking(
        _ lease: ChannelMakerLease,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) {
        _ = try await query(
            "UPDATE channel_makers SET lease_until = NULL WHERE bundle = $1 AND environment = $2 AND lease_owner = $3",
            lease.app.bundleParameters + [.text(lease.owner)],
            by: deadline
        )
    }

    /// Creations for an app's bundle whose answer is not in the books, the oldest first, other tenants' too; and whether
    /// all of them are `settled` old.
    package func doubtfulChannels(
        of app: AppKey,
        settled: Duration,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> (channels: [ChannelRecord], areSettled: Bool) {
        let rows = try await query(
            """
            SELECT \(ChannelRecord.columns), c.creating_at <= now() - make_interval(secs => $3) FROM channels c
            WHERE c.bundle = $1 AND c.environment = $2 AND c.creating_at IS NOT NULL
            ORDER BY c.creating_at, c.tenant_id, c.match_id, c.cadence
            """,
            app.bundleParameters + [.seconds(settled)],
            by: deadline
        )
        return (rows.map { ChannelRecord($0) }, rows.allSatisfy { $0.bool(12) })
    }

    /// Those of `ids` that were not made here, for whichever tenant.
    package func strangers(
        among ids: [ChannelID],
        of app: AppKey,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> [ChannelID] {
        try await query(
            """
            SELECT i FROM unnest($3::text[]) WITH ORDINALITY AS x (i, n) WHERE NOT EXISTS (
                SELECT FROM channel_ids c WHERE c.bundle = $1 AND c.environment = $2 AND c.channel_id = i)
            ORDER BY n
            """,
            app.bundleParameters + [.textArray(ids.map(\.text))],
            by: deadline
        ).map { $0.wrapped(0) }
    }

    /// Puts down that a channel is about to be asked for.
    ///
    /// - Returns: false: it is not wanted any more, or this process does not make the bundle's channels any more.
    package func beginCreation(
        _ record: ChannelRecord,
        under lease: ChannelMakerLease,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> Bool {
        try await query(
            """
            UPDATE channels c SET creating_at = now()
            WHERE c.tenant_id = $1 AND c.match_id = $2 AND c.environment = $3 AND c.cadence = $4
              AND c.state = 'pending' AND c.creating_at IS NULL
              AND EXISTS (SELECT FROM channel_makers k WHERE (k.bundle, k.environment) = (c.bundle, c.environment)
                  AND k.lease_owner = $5
                  AND k.lease_until > now() + interval '15 seconds')
              AND EXISTS (SELECT FROM matches m WHERE (m.tenant_id, m.match_id) = (c.tenant_id, c.match_id)
                  AND m.deleted_at IS NULL AND m.end_version IS NULL)
            """,
            record.key + [.text(lease.owner)],
            by: deadline
        ).affectedRows == 1
    }

    /// Leaves a creation in doubt, to be looked at again after `delay`.
    package func creationInDoubt(
        _ record: ChannelRecord,
        lookAfter delay: Duration,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) {
        _ = try await query(
            """
            UPDATE channels SET next_at = now() + make_interval(secs => $5),
                last_error = CASE WHEN creating_at IS NULL THEN last_error
                    ELSE 'the answer to its creation was lost: APNs'' list is looked through before another is made' END
            WHERE tenant_id = $1 AND match_id = $2 AND environment = $3 AND cadence = $4 AND state = 'pending'
            """,
            record.key + [.seconds(delay)],
            by: deadline
        )
    }

    /// APNs has made nothing: the channel is made at once, or not at all any more.
    package func creationFailed(
        _ record: ChannelRecord,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) {
        _ = try await query(
            """
            UPDATE channels c SET creating_at = NULL,
                state = CASE WHEN m.end_version IS NULL AND m.deleted_at IS NULL THEN 'pending' ELSE 'deleted' END,
                next_at = CASE WHEN m.end_version IS NULL AND m.deleted_at IS NULL THEN now() END
            FROM matches m
            WHERE c.tenant_id = $1 AND c.match_id = $2 AND c.environment = $3 AND c.cadence = $4
              AND c.state = 'pending' AND (m.tenant_id, m.match_id) = (c.tenant_id, c.match_id)
            """,
            record.key,
            by: deadline
        )
    }

    /// Forgets ids that have been gone for a month, a bounded number at a time.
    package func pruneChannelIDs(by deadline: ContinuousClock.Instant) async throws(StoreError) {
        _ = try await query(
            """
            DELETE FROM channel_ids WHERE ctid = ANY (ARRAY(
                SELECT ctid FROM channel_ids WHERE gone_at < now() - interval '30 days' LIMIT 10000))
            """,
            by: deadline
        )
    }
}

extension ChannelRecord {
    /// Tenant, match, environment, cadence.
    var key: [PGValue] { match.parameters + [.text(environment.rawValue), .text(cadence.rawValue)] }
}

extension AppKey {
    /// Tenant, bundle, environment.
    var parameters: [PGValue] { [.text(tenant), .text(bundle), .text(environment.rawValue)] }

    /// Bundle, environment: what APNs' list is of.
    fileprivate var bundleParameters: [PGValue] { [.text(bundle), .text(environment.rawValue)] }
}
