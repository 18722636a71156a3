internal import APNsProtocol
internal import Core
internal import PostgreSQL

// What APNs' answers leave to be written of tokens, for sweeps and stragglers alike.
extension Store {
    /// - Parameters:
    ///   - result: What became of tokens.
    ///   - match: Whose they are.
    ///   - epoch: Of the target's lease; what is handed over depends on it. Stragglers' pushes hand nothing over.
    /// - Returns: What writes it.
    func outcomeStatements(_ result: PageResult, of match: MatchKey, epoch: Int64 = 0) -> [PGStatement] {
        var statements: [PGStatement] = []
        if !result.dead.isEmpty { statements.append(removeDead(result.dead, of: match)) }
        if !result.refused.isEmpty { statements.append(setAside(result.refused, of: match)) }
        if let alerted = result.alerted, !alerted.activities.isEmpty { statements.append(notAlertedAgain(alerted)) }
        for handed in result.handedOver {
            statements += [handed.statement(epoch: epoch)] + (handed.takenFromEnd.map { [$0] } ?? [])
        }
        return statements
    }

    /// Phones that took another token while the page was under way have had its alert with the old one.
    private func notAlertedAgain(
        _ alerted: (target: TargetKey, version: Int64, range: Sweep.Range, activities: [ActivityID])
    ) -> PGStatement {
        PGStatement(
            """
            WITH told AS (
                UPDATE stragglers SET alert_version = 0, doubt_row = NULL
                WHERE tenant_id = $1 AND match_id = $2 AND doubt_row > $3 AND doubt_row <= $4 AND environment = $5
                  AND doubt_cadence = $6 AND doubt_shard = $7 AND alert_version = $8 AND activity = ANY ($9::text[])
                RETURNING activity
            )
            UPDATE activities SET alerted_version = $8 WHERE ctid = ANY (ARRAY(
                SELECT a.ctid FROM told CROSS JOIN LATERAL (\(Self.activity("told.activity", isLocked: true))) a))
            """,
            alerted.target.match.parameters + [
                .int(alerted.range.after), .int(alerted.range.through), .text(alerted.target.environment.rawValue),
                .text(alerted.target.cadence.rawValue), .int(alerted.target.shard), .int(alerted.version),
                .textArray(alerted.activities.map(\.text)),
            ]
        )
    }

    /// One activity of the match `$1`, `$2`, by its key.
    ///
    /// To be joined laterally: its limit keeps the planner from reading all activities of a match for a handful, which it
    /// believes to be cheap while it has no statistics of a new match. For the same reason `refused_reason` is looked at
    /// outside: the sweep's partial index must not seem to fit.
    /// - Parameters:
    ///   - activity: What its id is, in SQL.
    ///   - isLocked: To be changed by its `ctid`, which a row that changes meanwhile must not keep.
    /// - Returns: A subquery with all columns and `ctid`.
    static func activity(_ activity: String, isLocked: Bool = false) -> String {
        """
        SELECT ctid, * FROM activities
        WHERE tenant_id = $1 AND match_id = $2 AND activity = \(activity) LIMIT 1\(isLocked ? " FOR UPDATE" : "")
        """
    }

    /// Removes tokens that APNs called dead, unless they were registered again since, or replaced.
    private func removeDead(_ dead: [(row: TokenRow, asOf: Moment?)], of match: MatchKey) -> PGStatement {
        PGStatement(
            """
            DELETE FROM activities WHERE ctid = ANY (ARRAY(
                SELECT a.ctid FROM unnest($3::text[], $4::text[], $5::timestamptz[]) AS d (activity, token, as_of)
                CROSS JOIN LATERAL (\(Self.activity("d.activity", isLocked: true))) a
                WHERE a.token = d.token AND date_trunc('milliseconds', a.registered_at) <= coalesce(d.as_of, now())))
            """,
            match.parameters + [
                .textArray(dead.map(\.row.activity.text)), .textArray(dead.map(\.row.token.text)),
                .timestampArray(dead.map { $0.asOf.map { PGTimestamp(unixMilliseconds: $0.milliseconds) } }),
            ]
        )
    }

    /// Sets tokens aside that APNs refused, unless they were registered again since they were read, or replaced: APNs may
    /// take them again since then, and does not say as of when it refused them.
    private func setAside(_ refused: [(row: TokenRow, reason: String)], of match: MatchKey) -> PGStatement {
        PGStatement(
            """
            UPDATE activities SET refused_reason = found.reason, refused_at = clock_timestamp()
            FROM (SELECT a.ctid AS place, r.reason
                  FROM unnest($3::text[], $4::text[], $5::text[], $6::timestamptz[]) AS r (activity, token, reason, read_at)
                  CROSS JOIN LATERAL (\(Self.activity("r.activity", isLocked: true))) a
                  WHERE a.token = r.token AND date_trunc('milliseconds', a.registered_at) <= r.read_at) found
            WHERE activities.ctid = found.place
            """,
            match.parameters + [
                .textArray(refused.map(\.row.activity.text)), .textArray(refused.map(\.row.token.text)),
                .textArray(refused.map(\.reason)),
                .timestampArray(refused.map { PGTimestamp(unixMilliseconds: $0.row.registeredAt.milliseconds) }),
            ]
        )
    }
}
