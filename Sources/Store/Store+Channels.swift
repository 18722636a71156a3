package import APNsProtocol
package import Core
package import PostgreSQL

/// A match's channel in one environment, for one cadence.
package struct ChannelRecord: Sendable {
    package enum State: String, Sendable {
        case pending
        case open
        case deleted
    }

    package let match: MatchKey
    package let bundle: BundleID
    package let environment: APNsEnvironment
    package let cadence: Cadence
    package let state: State
    /// nil until APNs has given one.
    package let channel: ChannelID?
    package let storagePolicy: StoragePolicy
    /// When it is to be created, or deleted.
    package let nextAt: Moment?
    package let lastError: String?
    /// When it last stood in for a channel that was lost; phones on that one get nothing more.
    package let replacedAt: Moment?
    /// Since when a creation is under way, or its answer missing; nil: neither.
    package let creatingAt: Moment?

    package var app: AppKey { AppKey(tenant: match.tenant, bundle: bundle, environment: environment) }

    package var target: TargetKey {
        TargetKey(match: match, kind: .channel, environment: environment, cadence: cadence)
    }
}

/// A channel that is to be created or deleted now, claimed by this process.
package struct ChannelDuty: Sendable {
    package let channel: ChannelRecord
    /// This one included.
    package let attempts: Int
    package let credential: Int64
    /// Why the app's channel work stands still; nil: it does not.
    package let stopped: String?
}

extension ChannelRecord {
    static let columns =
        "c.tenant_id, c.match_id, c.bundle, c.environment, c.cadence, c.state, c.channel_id, c.storage_policy, "
        + "c.next_at, c.last_error, c.replaced_at, c.creating_at"

    /// ``columns`` from `first` on.
    init(_ row: PGRow, from first: Int = 0) {
        match = row.matchKey(first)
        bundle = row.wrapped(first + 2)
        environment = row.value(first + 3)
        cadence = row.value(first + 4)
        state = row.value(first + 5)
        channel = row.isNull(first + 6) ? nil : row.wrapped(first + 6)
        storagePolicy = row.int(first + 7) == 0 ? .noMessageStored : .mostRecentMessageStored
        nextAt = row.optionalMoment(first + 8)
        lastError = row.optionalText(first + 9)
        replacedAt = row.optionalMoment(first + 10)
        creatingAt = row.optionalMoment(first + 11)
    }
}

extension Store {
    /// Plans the channels that a match is to have, one for each environment of its app, or two by cadence.
    ///
    /// A match whose kick-off is past by its ``MatchRecord/silence`` gets none, unless it is live: by then it is over.
    ///
    /// For the transaction that makes or moves the match; also what the housekeeper runs for an app that came later.
    /// - Parameters:
    ///   - tenant: Whose.
    ///   - match: Only this one; nil: all matches of `bundle`.
    ///   - bundle: Only of this app; nil: of `match`, whatever its app.
    ///   - now: By which a kick-off is long past; nil: the database's clock.
    /// - Returns: One statement; it may run as the API's role.
    package static func planChannels(
        tenant: TenantID,
        match: MatchID? = nil,
        bundle: BundleID? = nil,
        now: Timestamp? = nil
    ) -> PGStatement {
        PGStatement(
            """
            INSERT INTO channels AS c (tenant_id, match_id, environment, cadence, bundle, storage_policy, next_at)
            SELECT m.tenant_id, m.match_id, a.environment, k.cadence, m.bundle, a.storage_policy,
                   m.kickoff_at - make_interval(secs => a.channel_lead)
            FROM matches m
            JOIN apps a ON a.tenant_id = m.tenant_id AND a.bundle = m.bundle
            CROSS JOIN LATERAL unnest(CASE
                WHEN a.channels = 'single' THEN ARRAY['any']
                WHEN a.channels = 'by_cadence' AND a.frequent_updates_declared THEN ARRAY['frequent', 'standard']
                WHEN a.channels = 'by_cadence' THEN ARRAY['standard']
                ELSE ARRAY[]::text[] END) AS k (cadence)
            WHERE m.tenant_id = $1 AND m.deleted_at IS NULL AND m.end_version IS NULL
              AND ($2::text IS NULL OR m.match_id = $2) AND ($3::text IS NULL OR m.bundle = $3)
              AND (m.status = 'live' OR (m.status = 'scheduled' AND m.kickoff_at
                  > coalesce($4::timestamptz, now()) - make_interval(secs => \(MatchRecord.silenceSQL))))
            ON CONFLICT (tenant_id, match_id, environment, cadence) DO UPDATE
            SET state = CASE c.state WHEN 'open' THEN 'open' ELSE 'pending' END,
                channel_id = CASE c.state WHEN 'open' THEN c.channel_id END,
                next_at = CASE c.state WHEN 'open' THEN NULL ELSE excluded.next_at END, attempts = 0,
                storage_policy = CASE c.state WHEN 'open' THEN c.storage_policy ELSE excluded.storage_policy END,
                bundle = CASE c.state WHEN 'open' THEN c.bundle ELSE excluded.bundle END
            WHERE c.state = 'deleted'
               -- Its match is back before its linger was over.
               OR (c.state = 'open' AND c.next_at IS NOT NULL)
               OR (c.state = 'pending' AND c.attempts = 0 AND c.next_at IS DISTINCT FROM excluded.next_at)
            """,
            [.text(tenant), .text(match?.text), .text(bundle?.text), .time(now)]
        )
    }

    /// The channels of a match, for the API.
    package func channels(
        of match: MatchKey,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> [ChannelRecord] {
        try await tenant(
            match.tenant,
            by: deadline,
            [
                PGStatement(
                    """
                    SELECT \(ChannelRecord.columns) FROM channels c WHERE c.tenant_id = $1 AND c.match_id = $2
                    ORDER BY c.environment, c.cadence
                    """,
                    match.parameters
                )
            ]
        )[0].map { ChannelRecord($0) }
    }

    /// A channel target's match and channel, read in one round trip.
    ///
    /// - Returns: nil if either is not there.
    package func channelState(
        of target: TargetKey,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> (state: MatchState, channel: ChannelRecord)? {
        let results = try await pipeline(
            [
                MatchState.statement(target.match, target.environment),
                PGStatement(
                    """
                    SELECT \(ChannelRecord.columns) FROM channels c
                    WHERE c.tenant_id = $1 AND c.match_id = $2 AND c.environment = $3 AND c.cadence = $4
                    """,
                    target.match.parameters + [.text(target.environment.rawValue), .text(target.cadence.rawValue)]
                ),
            ],
            by: deadline
        )
        guard let match = results[0].first, let channel = results[1].first else { return nil }
        return (MatchState(match), ChannelRecord(channel))
    }

    /// Claims channels that are to be created or deleted now: their time moves ahead until it is done.
    package func claimChannelDuties(
        limit: Int,
        lease: Duration,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> [ChannelDuty] {
        let result = try await query(
            """
            WITH due AS (
                SELECT tenant_id, match_id, environment, cadence FROM channels WHERE next_at <= now()
                ORDER BY next_at LIMIT $1 FOR UPDATE SKIP LOCKED
            ), taken AS (
                UPDATE channels c SET next_at = now() + make_interval(secs => $2), attempts = c.attempts + 1
                FROM due d
                WHERE (c.tenant_id, c.match_id, c.environment, c.cadence)
                    = (d.tenant_id, d.match_id, d.environment, d.cadence)
                RETURNING c.*
            )
            SELECT \(ChannelRecord.columns), c.attempts, a.credential_id,
                   CASE WHEN a.paused_at IS NOT NULL THEN 'paused' ELSE a.channels_stopped END
            FROM taken c JOIN apps a USING (tenant_id, bundle, environment)
            """,
            [.int(limit), .seconds(lease)],
            by: deadline
        )
        return result.map {
            ChannelDuty(
                channel: ChannelRecord($0),
                attempts: Int($0.int(12)),
                credential: $0.int(13),
                stopped: $0.optionalText(14)
            )
        }
    }

    /// Records that APNs made the channel, and makes it a target.
    ///
    /// The match's row is locked: an event either sees the target and marks it, or is seen here.
    /// - Returns: false: the match has another already, and this one is nobody's.
    @discardableResult
    package func channelOpened(
        _ record: ChannelRecord,
        as channel: ChannelID,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> Bool {
        let key = record.target.match.parameters + [.text(record.environment.rawValue), .text(record.cadence.rawValue)]
        return try await pipeline(
            [
                PGStatement(
                    "SELECT 1 FROM matches WHERE tenant_id = $1 AND match_id = $2 FOR UPDATE",
                    record.match.parameters
                ),
                PGStatement(
                    """
                    INSERT INTO channel_ids (tenant_id, match_id, environment, cadence, channel_id, bundle)
                    VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING
                    """,
                    key + [.text(channel), .text(record.bundle)]
                ),
                PGStatement(
                    """
                    UPDATE channels c SET state = 'open', channel_id = $5, opened_at = now(), attempts = 0,
                        creating_at = NULL, last_error = NULL, next_at = (
                            SELECT CASE WHEN m.end_version IS NOT NULL OR m.deleted_at IS NOT NULL THEN now() END
                            FROM matches m WHERE m.tenant_id = $1 AND m.match_id = $2)
                    WHERE c.tenant_id = $1 AND c.match_id = $2 AND c.environment = $3 AND c.cadence = $4
                      AND c.state = 'pending'
                    """,
                    key + [.text(channel)]
                ),
                PGStatement(
                    """
                    INSERT INTO targets AS t (tenant_id, match_id, kind, environment, cadence, due_at)
                    SELECT m.tenant_id, m.match_id, 'channel', $3, $4, CASE WHEN m.version > 0 THEN now() END
                    FROM matches m JOIN channels c ON (c.tenant_id, c.match_id, c.environment, c.cadence, c.channel_id)
                        = (m.tenant_id, m.match_id, $3, $4, $5)
                    WHERE m.tenant_id = $1 AND m.match_id = $2
                    ON CONFLICT (tenant_id, match_id, kind, environment, cadence, shard) DO UPDATE
                    SET due_at = excluded.due_at, backoff = 0
                    """,
                    key + [.text(channel)]
                ),
            ],
            by: deadline
        )[2].affectedRows == 1
    }

    /// Records that a channel is gone at APNs, by our own wish.
    package func channelDeleted(_ record: ChannelRecord, by deadline: ContinuousClock.Instant) async throws(StoreError)
    {
        let key = record.target.match.parameters + [.text(record.environment.rawValue), .text(record.cadence.rawValue)]
        _ = try await pipeline(
            [
                PGStatement(
                    """
                    UPDATE channel_ids SET gone_at = coalesce(gone_at, now())
                    WHERE tenant_id = $1 AND bundle = $2 AND environment = $3 AND channel_id = $4
                    """,
                    [
                        .text(record.match.tenant), .text(record.bundle), .text(record.environment.rawValue),
                        .text(record.channel?.text),
                    ]
                ),
                PGStatement(
                    // Its match may have come back while APNs was asked: then it gets another.
                    """
                    UPDATE channels c SET
                        state = CASE WHEN c.next_at IS NULL THEN 'pending' ELSE 'deleted' END,
                        channel_id = NULL, deleted_at = now(), attempts = 0,
                        next_at = CASE WHEN c.next_at IS NULL THEN now() END
                    WHERE c.tenant_id = $1 AND c.match_id = $2 AND c.environment = $3 AND c.cadence = $4
                      AND c.state <> 'pending' AND c.channel_id IS NOT DISTINCT FROM $5
                    """,
                    key + [.text(record.channel?.text)]
                ),
                PGStatement(
                    """
                    DELETE FROM targets WHERE tenant_id = $1 AND match_id = $2 AND kind = 'channel'
                      AND environment = $3 AND cadence = $4
                    """,
                    key
                ),
            ],
            by: deadline
        )
    }

    /// Tries a channel's creation or deletion again later.
    ///
    /// - Parameters:
    ///   - record: The channel.
    ///   - delay: nil: not by itself.
    ///   - error: What to show; no secret.
    ///   - deadline: For the statement.
    /// - Throws: ``StoreError``.
    package func channelFailed(
        _ record: ChannelRecord,
        retryAfter delay: Duration?,
        error: String,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) {
        _ = try await query(
            """
            UPDATE channels SET next_at = now() + make_interval(secs => $5), last_error = $6, creating_at = NULL
            WHERE tenant_id = $1 AND match_id = $2 AND environment = $3 AND cadence = $4
            """,
            record.target.match.parameters + [
                .text(record.environment.rawValue), .text(record.cadence.rawValue),
                delay.map { .seconds($0) } ?? .null, .text(error),
            ],
            by: deadline
        )
    }

    /// A channel that APNs no longer knows is made anew, at most once an hour.
    ///
    /// - Returns: false: it was replaced within the hour.
    package func replaceChannel(
        _ record: ChannelRecord,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> Bool {
        try await query(
            """
            WITH replaced AS (
                UPDATE channels
                SET state = 'pending', channel_id = NULL, next_at = now(), attempts = 0, replaced_at = now(),
                    last_error = 'replaced: phones on the old channel get nothing more'
                WHERE tenant_id = $1 AND match_id = $2 AND environment = $3 AND cadence = $4 AND channel_id = $5
                  AND (replaced_at IS NULL OR replaced_at < now() - interval '1 hour')
                RETURNING tenant_id, bundle, environment
            )
            UPDATE channel_ids i SET gone_at = now() FROM replaced r
            WHERE (i.tenant_id, i.bundle, i.environment) = (r.tenant_id, r.bundle, r.environment)
              AND i.channel_id = $5
            """,
            record.target.match.parameters + [
                .text(record.environment.rawValue), .text(record.cadence.rawValue), .text(record.channel?.text),
            ],
            by: deadline
        ).affectedRows == 1
    }
}
