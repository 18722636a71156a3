internal import APNsProtocol
package import Core
internal import PostgreSQL

extension Store {
    /// Claims the stragglers that are due, longest due first, urgent ones before others.
    ///
    /// A claim moves the due time ahead: if this process dies, they are due again then.
    /// - Returns: The claimed, and when the next one becomes due.
    package func claimStragglers(
        limit: Int,
        lease: Duration,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> (claimed: [ClaimedStraggler], next: Duration?) {
        let results = try await pipeline(
            [
                PGStatement(
                    """
                    WITH due AS (
                        SELECT tenant_id, match_id, activity FROM stragglers WHERE due_at <= now()
                        ORDER BY due_at LIMIT $1 FOR UPDATE SKIP LOCKED
                    ), taken AS (
                        UPDATE stragglers s SET due_at = now() + make_interval(secs => $2)
                        FROM due d WHERE (s.tenant_id, s.match_id, s.activity) = (d.tenant_id, d.match_id, d.activity)
                        RETURNING s.*
                    )
                    SELECT s.tenant_id, s.match_id, s.activity, a.row_no, a.token, a.environment, a.cadence, a.shard,
                           s.version, s.urgent, s.alert_version, s.attempts, s.due_at,
                           coalesce(t.reached_version, 0), a.registered_at
                    FROM taken s
                    CROSS JOIN LATERAL (
                        SELECT * FROM activities x WHERE (x.tenant_id, x.match_id, x.activity)
                            = (s.tenant_id, s.match_id, s.activity) LIMIT 1) a
                    LEFT JOIN LATERAL (
                        SELECT reached_version FROM targets x
                        WHERE (x.tenant_id, x.match_id, x.kind, x.environment, x.cadence, x.shard)
                            = (s.tenant_id, s.match_id, 'tokens', a.environment, a.cadence, a.shard) LIMIT 1) t ON true
                    WHERE a.refused_reason IS NULL
                    """,
                    [.int(limit), .seconds(lease)]
                ),
                PGStatement(
                    """
                    SELECT (extract(epoch FROM min(due_at) - clock_timestamp()) * 1000)::bigint
                    FROM stragglers
                    """
                ),
            ],
            by: deadline
        )
        let claimed = results[0].map { row in
            let match = row.matchKey(0)
            return ClaimedStraggler(
                match: match,
                row: TokenRow(
                    number: row.int(3),
                    activity: row.wrapped(2),
                    token: row.wrapped(4),
                    registeredAt: row.moment(14)
                ),
                target: TargetKey(
                    match: match,
                    kind: .tokens,
                    environment: row.value(5),
                    cadence: row.value(6),
                    shard: Int(row.int(7))
                ),
                version: row.int(8),
                isUrgent: row.bool(9),
                alertVersion: row.int(10),
                attempts: Int(row.int(11)),
                claimedUntil: row.timestamp(12),
                sweptVersion: row.int(13)
            )
        }
        return (claimed, results[1].first?.optionalInt(0).map { .milliseconds(max(0, $0)) })
    }

    /// Writes what became of claimed stragglers of one match.
    ///
    /// - Parameters:
    ///   - match: Whose they are.
    ///   - done: Deleted, unless a newer failure or registration has armed them again since.
    ///   - ended: Activities that got their `end`: nothing will be sent to them any more.
    ///   - result: Dead and refused tokens, and those to be tried again.
    ///   - turns: Counts to add, per shard.
    ///   - deadline: For the one round trip.
    /// - Throws: ``StoreError``.
    package func finishStragglers(
        of match: MatchKey,
        done: [ClaimedStraggler],
        ended: [ActivityID] = [],
        result: PageResult,
        turns: [(target: TargetKey, turn: TurnRecord)],
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) {
        var statements: [PGStatement] = []
        if !done.isEmpty {
            statements.append(
                PGStatement(
                    """
                    DELETE FROM stragglers WHERE ctid = ANY (ARRAY(
                        SELECT s.ctid FROM unnest($3::text[], $4::timestamptz[]) AS d (activity, claimed_until)
                        CROSS JOIN LATERAL (
                            SELECT ctid, due_at FROM stragglers
                            WHERE tenant_id = $1 AND match_id = $2 AND activity = d.activity LIMIT 1 FOR UPDATE) s
                        WHERE s.due_at = d.claimed_until))
                    """,
                    match.parameters + [
                        .textArray(done.map(\.row.activity.text)), .timestampArray(done.map(\.claimedUntil)),
                    ]
                )
            )
        }
        statements += outcomeStatements(result, of: match)
        if !ended.isEmpty {
            statements.append(
                PGStatement(
                    """
                    DELETE FROM activities WHERE ctid = ANY (ARRAY(
                        SELECT a.ctid FROM unnest($3::text[]) AS d (activity)
                        CROSS JOIN LATERAL (\(Self.activity("d.activity", isLocked: true))) a))
                    """,
                    match.parameters + [.textArray(ended.map(\.text))]
                )
            )
        }
        statements += turns.map { $0.turn.stragglerStatement(of: $0.target) }
        guard !statements.isEmpty else { return }
        _ = try await pipeline(statements, by: deadline)
    }

    /// Forgets stragglers whose activity is gone or set aside: nothing claims them.
    package func pruneStragglers(by deadline: ContinuousClock.Instant) async throws(StoreError) {
        _ = try await query(
            """
            DELETE FROM stragglers s WHERE s.first_at < now() - interval '1 minute' AND NOT EXISTS (
                SELECT FROM (SELECT refused_reason FROM activities x WHERE (x.tenant_id, x.match_id, x.activity)
                    = (s.tenant_id, s.match_id, s.activity) LIMIT 1) a WHERE a.refused_reason IS NULL)
            """,
            by: deadline
        )
    }
}
