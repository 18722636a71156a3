package import Core
internal import PostgreSQL

/// A match that something due has not reached: what is sent to now, what is tried again, and what nobody takes up.
package struct BehindMatch: Sendable {
    package let match: MatchKey
    /// When the oldest version was accepted that is lacking; where pacing held it back, the end of that.
    package let since: Moment
    /// Channels, and shards as a whole.
    package let channels: Int
    package let shards: Int
    /// Phones of shards that are not behind themselves.
    package let phones: Int
    /// What APNs answered last that was no acceptance, since then; nil: nothing came.
    package let lastAnswer: String?
}

/// Matches that are behind.
package struct BehindMatches: Sendable {
    /// Behind the longest first.
    package let matches: [BehindMatch]
    /// Whether these are all of them.
    package let isComplete: Bool
    /// The database's clock.
    package let now: Moment
}

extension Store {
    /// Matches that are behind, of all processes, by the narrow indexes of what is due.
    ///
    /// What pacing holds back is not behind, nor what a pause or a stop does: that is not due. Phones that get a push of
    /// their own count where they are twenty, or a tenth of the match's: a few are no stall.
    ///
    /// - Parameters:
    ///   - duration: For at least so long.
    ///   - limit: Of matches; as many targets are looked at for each that is answered, at most 200.
    ///   - deadline: For the statement.
    /// - Returns: At most `limit`.
    /// - Throws: ``StoreError``.
    package func behindMatches(
        for duration: Duration,
        limit: Int = 100,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> BehindMatches {
        let rows = try await query(
            Self.behindMatchesSQL,
            [.seconds(duration), .int(Self.maxTargets), .int(Self.maxPhones), .int(limit + 1)],
            by: deadline
        )
        // The first row holds the clock and whether anything was left out.
        let found = rows.filter { !$0.isNull(2) }
        return BehindMatches(
            matches: found.prefix(limit).map { row in
                BehindMatch(
                    match: MatchKey(tenant: row.wrapped(2), match: row.wrapped(3)),
                    since: row.moment(4),
                    channels: Int(row.int(5)),
                    shards: Int(row.int(6)),
                    phones: Int(row.int(7)),
                    lastAnswer: row.optionalText(8)
                )
            },
            isComplete: rows[0].bool(1) && found.count <= limit,
            now: rows[0].moment(0)
        )
    }

    /// Looked at in one statement, so that it stays short in an outage of everything.
    private static let maxTargets = 200
    private static let maxPhones = 10_000

    private static let behindMatchesSQL = """
        WITH targets_due AS MATERIALIZED (
            SELECT * FROM targets
            WHERE due_at IS NOT NULL AND (backoff > 0 OR due_at <= now() - make_interval(secs => $1)
                OR (urgent AND due_at > now()))
            ORDER BY due_at LIMIT $2
        ), phones_due AS MATERIALIZED (
            SELECT tenant_id, match_id, environment, first_at FROM stragglers
            WHERE first_at <= now() - make_interval(secs => $1) ORDER BY due_at LIMIT $3
        ), late AS (
            SELECT t.tenant_id, t.match_id, t.kind, 0 AS phones,
                   CASE WHEN t.backoff = 0 AND NOT t.urgent THEN t.due_at ELSE coalesce((
                       SELECT min(e.received_at) FROM events e
                       WHERE e.tenant_id = t.tenant_id AND e.match_id = t.match_id AND e.status = 'accepted'
                         AND e.version > t.reached_version), m.accepted_at) END AS since
            FROM targets_due t
            JOIN matches m ON m.tenant_id = t.tenant_id AND m.match_id = t.match_id AND m.version > t.reached_version
            UNION ALL
            SELECT p.tenant_id, p.match_id, 'phones', p.number, p.since
            FROM (SELECT tenant_id, match_id, environment, count(*) AS number, min(first_at) AS since FROM phones_due
                  GROUP BY 1, 2, 3) p
            JOIN matches m ON m.tenant_id = p.tenant_id AND m.match_id = p.match_id AND m.paused_at IS NULL
            JOIN tenants n ON n.tenant_id = p.tenant_id AND n.paused_at IS NULL
            JOIN apps a ON a.tenant_id = p.tenant_id AND a.bundle = m.bundle AND a.environment = p.environment
                AND a.paused_at IS NULL AND a.tokens_stopped IS NULL
            WHERE p.number >= 20 OR p.number * 10 >= (SELECT count(*) FROM (
                SELECT FROM activities v WHERE v.tenant_id = p.tenant_id AND v.match_id = p.match_id
                  AND v.environment = p.environment LIMIT p.number * 10 + 1) AS all_phones)
        ), behind AS (
            SELECT tenant_id, match_id, min(since) AS since, count(*) FILTER (WHERE kind = 'channel') AS channels,
                   count(*) FILTER (WHERE kind = 'tokens') AS shards, sum(phones) AS phones
            FROM late WHERE since <= now() - make_interval(secs => $1)
            GROUP BY 1, 2 ORDER BY 3 LIMIT $4
        )
        SELECT now(), (SELECT count(*) FROM targets_due) < $2 AND (SELECT count(*) FROM phones_due) < $3,
               b.tenant_id, b.match_id, b.since, b.channels, b.shards, b.phones::bigint,
               (SELECT l.answer FROM last_answers l
                WHERE l.tenant_id = b.tenant_id AND l.match_id = b.match_id AND l.answered_at >= b.since
                ORDER BY l.answered_at DESC LIMIT 1)
        FROM (SELECT) AS once LEFT JOIN behind b ON true ORDER BY b.since
        """
}
