package import Core
package import PostgreSQL

/// A match that the housekeeper is to look at.
package struct MatchDuty: Sendable {
    package let match: MatchKey
    package let kickoffAt: Moment
    package let lastActivityAt: Moment
    /// How long it may be without events.
    package let silence: Duration
    package let endDueAt: Moment?
    package let endRequestedAt: Moment?
    package let resendAt: Moment?
    package let hasEnded: Bool
    package let isCalledOff: Bool
    /// The database's clock.
    package let now: Moment
    /// The claim's mark: writes hold only while it stands.
    package let claimedUntil: PGTimestamp
}

extension Store {
    /// Claims matches whose time has come.
    ///
    /// - Returns: The claimed, and when the next one's time comes.
    package func claimMatchDuties(
        limit: Int,
        lease: Duration,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> (duties: [MatchDuty], next: Duration?) {
        let results = try await pipeline(
            [
                PGStatement(
                    """
                    WITH due AS (
                        SELECT tenant_id, match_id FROM matches WHERE housekeep_at <= now()
                        ORDER BY housekeep_at LIMIT $1 FOR UPDATE SKIP LOCKED
                    )
                    UPDATE matches m SET housekeep_at = now() + make_interval(secs => $2)
                    FROM due d WHERE (m.tenant_id, m.match_id) = (d.tenant_id, d.match_id)
                    RETURNING m.tenant_id, m.match_id, m.kickoff_at, \(MatchRecord.lastEventSQL), m.end_due_at, m.end_requested_at,
                        m.end_version IS NOT NULL,
                        m.deleted_at IS NOT NULL OR m.status IN ('postponed', 'abandoned'), clock_timestamp(),
                        m.housekeep_at, m.resend_at, \(MatchRecord.silenceSQL)
                    """,
                    [.int(limit), .seconds(lease)]
                ),
                PGStatement(
                    """
                    SELECT (extract(epoch FROM least(
                        (SELECT min(housekeep_at) FROM matches), (SELECT min(next_at) FROM channels)
                    ) - clock_timestamp()) * 1000)::bigint
                    """
                ),
            ],
            by: deadline
        )
        let duties = results[0].map { row in
            MatchDuty(
                match: row.matchKey(0),
                kickoffAt: row.moment(2),
                lastActivityAt: row.moment(3),
                silence: .seconds(row.int(11)),
                endDueAt: row.optionalMoment(4),
                endRequestedAt: row.optionalMoment(5),
                resendAt: row.optionalMoment(10),
                hasEnded: row.bool(6),
                isCalledOff: row.bool(7),
                now: row.moment(8),
                claimedUntil: row.timestamp(9)
            )
        }
        return (duties, results[1].first?.optionalInt(0).map { .milliseconds(max(0, $0)) })
    }

    /// Looks at a match again later, unless an event has set its time meanwhile.
    package func lookAgain(
        at duty: MatchDuty,
        _ moment: Moment?,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) {
        _ = try await query(
            "UPDATE matches SET housekeep_at = $3 WHERE tenant_id = $1 AND match_id = $2 AND housekeep_at = $4",
            duty.match.parameters + [.moment(moment), .timestamp(duty.claimedUntil)],
            by: deadline
        )
    }

    /// Makes the end the match's newest version, once; the housekeeper looks at it again in a second.
    ///
    /// - Returns: That version; nil: it has ended already.
    package func end(_ match: MatchKey, by deadline: ContinuousClock.Instant) async throws(StoreError) -> Int64? {
        try await pipeline(
            [
                PGStatement("SELECT touchline_end($1, $2)", match.parameters),
                PGStatement(
                    """
                    UPDATE matches SET housekeep_at = now() + interval '1 second'
                    WHERE tenant_id = $1 AND match_id = $2
                    """,
                    match.parameters
                ),
            ],
            by: deadline
        )[0].first?.optionalInt(0)
    }

    /// Takes a requested end back while it is held; the match goes on as if nobody had asked for it.
    ///
    /// The housekeeper ends a match only when the hold is over, by the same clock: none is both withdrawn and ended.
    /// - Returns: false: no end is held.
    package func withdrawEnd(_ match: MatchKey, by deadline: ContinuousClock.Instant) async throws(StoreError) -> Bool {
        try await tenant(
            match.tenant,
            by: deadline,
            """
            UPDATE matches SET end_requested_at = NULL, end_due_at = NULL, dismiss_after = NULL, updated_at = now(),
                housekeep_at = least(greatest(kickoff_at, now()), resend_at)
            WHERE tenant_id = $1 AND match_id = $2 AND deleted_at IS NULL AND end_version IS NULL
              AND end_due_at > clock_timestamp()
            """,
            match.parameters
        ).affectedRows == 1
    }

    /// Makes the newest state a version once more, for phones that come late to channels that keep nothing.
    package func resend(_ match: MatchKey, by deadline: ContinuousClock.Instant) async throws(StoreError) {
        _ = try await pipeline(
            [
                PGStatement("SELECT touchline_resend($1, $2)", match.parameters),
                PGStatement(
                    """
                    UPDATE matches SET housekeep_at = now() + interval '1 second'
                    WHERE tenant_id = $1 AND match_id = $2
                    """,
                    match.parameters
                ),
            ],
            by: deadline
        )
    }

    /// What an ended match still waits for: targets that lack the end, and stragglers.
    package func lacksEnd(_ match: MatchKey, by deadline: ContinuousClock.Instant) async throws(StoreError) -> Bool {
        try await query(
            """
            SELECT EXISTS (SELECT FROM targets t JOIN matches m USING (tenant_id, match_id)
                           WHERE t.tenant_id = $1 AND t.match_id = $2 AND t.reached_version < m.version)
                OR EXISTS (SELECT FROM stragglers WHERE tenant_id = $1 AND match_id = $2)
            """,
            match.parameters,
            by: deadline
        ).first?.bool(0) ?? false
    }

    /// Sets when a match's open channels go, and drops those that never came to be.
    ///
    /// One that is postponed keeps them until six hours after its kick-off: it may be put on another day.
    package func scheduleChannelDeletion(
        _ match: MatchKey,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) {
        _ = try await query(
            """
            UPDATE channels c SET
                state = CASE WHEN c.state = 'pending' THEN 'deleted' ELSE c.state END,
                next_at = CASE WHEN c.state = 'open' THEN w.since + make_interval(secs => a.channel_linger) END
            FROM apps a, (
                SELECT status = 'postponed' AND deleted_at IS NULL AS is_kept,
                       CASE WHEN status = 'postponed' AND deleted_at IS NULL
                            THEN greatest(now(), kickoff_at + interval '6 hours') ELSE now() END AS since
                FROM matches WHERE tenant_id = $1 AND match_id = $2 AND end_version IS NOT NULL) w
            WHERE c.tenant_id = $1 AND c.match_id = $2 AND c.state IN ('pending', 'open')
              -- What APNs may have made already is looked for first.
              AND ((c.state = 'pending' AND c.creating_at IS NULL) OR (c.state = 'open' AND (c.next_at IS NULL
                  OR (c.attempts = 0 AND (w.is_kept OR c.next_at > w.since + make_interval(secs => a.channel_linger))))))
              AND (a.tenant_id, a.bundle, a.environment) = (c.tenant_id, c.bundle, c.environment)
            """,
            match.parameters,
            by: deadline
        )
    }

    /// Removes an ended match's update tokens, at most `limit` at a time, and then their targets.
    ///
    /// Those that the end's stamp has seen: who registered later is brought the end by a straggler, which may not be there
    /// yet, and removed by that.
    ///
    /// - Returns: Whether there may be more.
    package func removeTokens(
        of match: MatchKey,
        limit: Int,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> Bool {
        try await pipeline(
            [
                PGStatement(
                    """
                    WITH m AS MATERIALIZED (\(Self.stampSQL))
                    DELETE FROM activities WHERE ctid = ANY (ARRAY(
                        SELECT ctid FROM activities a WHERE a.tenant_id = $1 AND a.match_id = $2
                          AND \(Self.isSeen("stamp_snapshot"))
                          AND NOT EXISTS (SELECT FROM stragglers s WHERE (s.tenant_id, s.match_id, s.activity)
                              = (a.tenant_id, a.match_id, a.activity))
                        LIMIT $3))
                    """,
                    match.parameters + [.int(limit)]
                ),
                PGStatement(
                    """
                    DELETE FROM targets t WHERE t.tenant_id = $1 AND t.match_id = $2 AND t.kind = 'tokens'
                      AND t.due_at IS NULL AND t.lease_until IS NULL
                      AND NOT EXISTS (SELECT FROM activities a WHERE (a.tenant_id, a.match_id) = ($1, $2))
                    """,
                    match.parameters
                ),
            ],
            by: deadline
        )[0].affectedRows == limit
    }

    /// Forgets events older than two days, a bounded number at a time.
    ///
    /// - Returns: How many went.
    package func pruneEvents(limit: Int, by deadline: ContinuousClock.Instant) async throws(StoreError) -> Int {
        try await query(
            """
            DELETE FROM events WHERE ctid = ANY (ARRAY(
                SELECT ctid FROM events WHERE received_at < now() - interval '48 hours' LIMIT $1))
            """,
            [.int(limit)],
            by: deadline
        ).affectedRows
    }

    /// Forgets what became of versions, when all that is known of one is older than two days: the lines of a version hand
    /// phones over to each other, and go together.
    ///
    /// - Parameters:
    ///   - limit: Versions at most.
    ///   - deadline: For the round trip.
    /// - Returns: How many lines went.
    /// - Throws: ``StoreError``.
    package func pruneTurns(limit: Int, by deadline: ContinuousClock.Instant) async throws(StoreError) -> Int {
        try await query(
            """
            WITH old AS MATERIALIZED (
                SELECT DISTINCT tenant_id, match_id, to_version FROM (
                    SELECT tenant_id, match_id, to_version FROM turns t
                    WHERE made_at < now() - interval '48 hours' AND NOT EXISTS (
                        SELECT FROM turns y WHERE y.tenant_id = t.tenant_id AND y.match_id = t.match_id
                          AND y.to_version = t.to_version AND y.made_at >= now() - interval '48 hours')
                    LIMIT $1) x)
            DELETE FROM turns t USING old o
            WHERE t.tenant_id = o.tenant_id AND t.match_id = o.match_id AND t.to_version = o.to_version
            """,
            [.int(limit)],
            by: deadline
        ).affectedRows
    }
}
