package import APNsProtocol
package import Core
internal import PostgreSQL

// Claiming stragglers, and what is known of them.
extension Store {
    /// Claims the stragglers that are due, longest due first.
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
                    )
                    UPDATE stragglers s SET due_at = now() + make_interval(secs => $2), is_sending = true,
                        is_wanted_again = false
                    FROM due d WHERE (s.tenant_id, s.match_id, s.activity) = (d.tenant_id, d.match_id, d.activity)
                    RETURNING s.tenant_id, s.match_id, s.activity, s.environment, s.cadence, s.shard, s.version,
                        s.urgent, s.alert_version, s.attempts, s.due_at, s.is_handed
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
                activity: row.wrapped(2),
                target: TargetKey(
                    match: match,
                    kind: .tokens,
                    environment: row.value(3),
                    cadence: row.value(4),
                    shard: Int(row.int(5))
                ),
                version: row.int(6),
                isUrgent: row.bool(7),
                alertVersion: row.int(8),
                attempts: Int(row.int(9)),
                isHanded: row.bool(11),
                claimedUntil: row.timestamp(10)
            )
        }
        return (claimed, results[1].first?.optionalInt(0).map { .milliseconds(max(0, $0)) })
    }

    /// Reads a match, and what decides about claimed stragglers of it, as of the match's stamp.
    ///
    /// - Returns: nil if the match is not there, or was stamped between the two reads. Stragglers without a row have
    ///   nothing to be sent to any more, or are another claim's, since their phone has registered again.
    package func readStragglers(
        _ claimed: [ClaimedStraggler],
        of match: MatchKey,
        in environment: APNsEnvironment,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> (state: MatchState, rows: [ActivityID: StragglerRow])? {
        let results = try await pipeline(
            [
                MatchState.statement(match, environment),
                PGStatement(
                    Self.stragglerRowsSQL,
                    Self.claims(claimed, of: match) + [.text(environment.rawValue)]
                ),
            ],
            by: deadline
        )
        guard let found = results[0].first else { return nil }
        let state = MatchState(found)
        var rows: [ActivityID: StragglerRow] = [:]
        for row in results[1] {
            guard row.int(10) == state.stampedVersion else { return nil }
            let straggler = StragglerRow(row)
            rows[straggler.row.activity] = straggler
        }
        return (state, rows)
    }

    private static let stragglerRowsSQL = """
        WITH m AS MATERIALIZED (\(stampSQL))
        SELECT a.row_no, a.activity, a.token, a.registered_at, a.cadence,
               \(isSeen("stamp_snapshot")) AND t.made_version < (SELECT version FROM m),
               \(isSeen("alert_snapshot")) AND t.made_version < s.alert_version,
               NOT coalesce(touchline_passed(o, s.alert_version, s.doubt_row), true),
               coalesce(t.lease_until > now() OR t.due_at <= now() + interval '1 second' OR t.backoff > 0, false),
               a.registered_at < now() - interval '8 hours', (SELECT stamped_version FROM m),
               s.version, s.urgent, s.alert_version, s.attempts, t.urgent_at, t.routine_at,
               coalesce(t.reached_version >= (SELECT version FROM m)
                   OR t.taken_version >= (SELECT version FROM m) AND t.turn_start IS NOT NULL AND CASE
                       WHEN t.turn_wrapped THEN a.row_no > t.turn_start OR a.row_no <= t.cursor
                       ELSE a.row_no > t.turn_start AND a.row_no <= t.cursor END, false),
               coalesce(t.lease_until > now(), false)
        FROM unnest($3::text[], $4::timestamptz[]) AS d (activity, claimed_until)
        CROSS JOIN LATERAL (\(activity("d.activity"))) a
        JOIN LATERAL (
            SELECT * FROM stragglers WHERE tenant_id = $1 AND match_id = $2 AND activity = d.activity LIMIT 1) s
            ON s.due_at = d.claimed_until
        LEFT JOIN targets t ON (t.tenant_id, t.match_id, t.kind, t.environment, t.cadence, t.shard)
            = ($1, $2, 'tokens', a.environment, a.cadence, a.shard)
        LEFT JOIN targets o ON (o.tenant_id, o.match_id, o.kind, o.environment, o.cadence, o.shard)
            = ($1, $2, 'tokens', a.environment, s.doubt_cadence, s.doubt_shard)
        WHERE a.refused_reason IS NULL AND a.environment = $5
        """

    /// One row of the match `$1`, `$2`: its versions, and what their stamps have seen. To be `m`.
    static let stampSQL = """
        SELECT version, stamped_version, urgent_version, stamp_snapshot, alert_version, alert_snapshot,
               pg_snapshot_xmax(pg_current_snapshot())::xid8 AS next_xid
        FROM matches WHERE tenant_id = $1 AND match_id = $2
        """

    /// Whether a stamp of `m` has seen the registration of the activity `a`. One that seems to lie in the future was made
    /// before the database was restored from a dump.
    static func isSeen(_ snapshot: String) -> String {
        """
        (coalesce(pg_visible_in_snapshot(a.registered_xid, (SELECT \(snapshot) FROM m)), true)
            OR a.registered_xid >= (SELECT next_xid FROM m))
        """
    }

    /// Takes rows over from the sweep of the newest version, which sends to them no more.
    ///
    /// Not while it runs: it may have read them. It cannot begin meanwhile, since its target is locked.
    /// - Returns: Those that were taken.
    package func takeOver(
        _ activities: [ActivityID],
        of match: MatchKey,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> Set<ActivityID> {
        let rows = try await query(
            """
            WITH resting AS MATERIALIZED (
                SELECT environment, cadence, shard, lease_until FROM targets
                WHERE tenant_id = $1 AND match_id = $2 AND kind = 'tokens'
                ORDER BY environment, cadence, shard FOR SHARE
            )
            UPDATE activities SET registered_xid = pg_current_xact_id() WHERE ctid = ANY (ARRAY(
                SELECT a.ctid FROM unnest($3::text[]) AS d (activity)
                CROSS JOIN LATERAL (\(Self.activity("d.activity", isLocked: true))) a
                WHERE NOT EXISTS (SELECT FROM resting t WHERE t.lease_until > clock_timestamp()
                    AND (t.environment, t.cadence, t.shard) = (a.environment, a.cadence, a.shard))))
            RETURNING activity
            """,
            match.parameters + [.textArray(activities.map(\.text).sorted())],
            by: deadline
        )
        return Set(rows.map { $0.wrapped(0) })
    }

    /// Takes the rows of a page over from its sweep whose phones are being sent the pending alert by themselves, or may get
    /// it yet with a former token: phones ignore what comes behind a newer stamp, so that a sweep which reached one of them
    /// first would cost it its alert. The newer version follows by itself (``finishStragglers(of:_:by:)``).
    ///
    /// Not those that the sweep itself is to alert. Where there are some, the match is locked against a stamp that would not
    /// see this, and the stragglers' rows, so that their pushes end before this, or see it.
    /// - Parameters:
    ///   - shard: Tenant, match, environment, cadence and shard of the sweep.
    ///   - range: Of the page.
    ///   - limit: Its size.
    /// - Returns: What answers the activities that are none of the page's.
    static func leaveToStragglers(_ shard: [PGValue], _ range: Sweep.Range, limit: Int) -> PGStatement {
        // By the phone's own key, whatever the planner believes: the partial index has all that alert.
        let straggler = """
            SELECT activity FROM stragglers
            WHERE tenant_id = $1 AND match_id = $2 AND activity = p.activity
              AND (is_sending OR doubt_row IS NOT NULL AND attempts = 0) AND (attempts > 0 OR NOT p.is_heard)
              AND alert_version = (SELECT alert_version FROM m) LIMIT 1
            """
        return PGStatement(
            """
            WITH m AS MATERIALIZED (\(stampSQL) AND alert IS NOT NULL AND alert_expires_at > now()
                AND EXISTS (SELECT FROM stragglers WHERE tenant_id = $1 AND match_id = $2
                    AND alert_version > 0 AND (is_sending OR doubt_row IS NOT NULL))
            ), page AS MATERIALIZED (
                SELECT activity, \(isSeen("alert_snapshot")) AND (
                    SELECT made_version FROM targets WHERE tenant_id = $1 AND match_id = $2 AND kind = 'tokens'
                      AND environment = $3 AND cadence = $4 AND shard = $5) < (SELECT alert_version FROM m) AS is_heard
                FROM activities a
                WHERE tenant_id = $1 AND match_id = $2 AND environment = $3 AND cadence = $4 AND shard = $5
                  AND refused_reason IS NULL AND row_no > $6 AND row_no <= $7
                  AND EXISTS (SELECT FROM m) AND \(isSeen("stamp_snapshot"))
                ORDER BY row_no LIMIT $8
            ), alerting AS MATERIALIZED (
                SELECT p.* FROM page p CROSS JOIN LATERAL (\(straggler)) s ORDER BY p.activity
            ), locked AS MATERIALIZED (
                SELECT FROM matches WHERE tenant_id = $1 AND match_id = $2 AND EXISTS (SELECT FROM alerting) FOR SHARE
            ), left_out AS MATERIALIZED (
                SELECT s.activity FROM alerting p CROSS JOIN LATERAL (\(straggler) FOR UPDATE) s
                WHERE EXISTS (SELECT FROM locked)
            )
            UPDATE activities SET registered_xid = pg_current_xact_id() WHERE ctid = ANY (ARRAY(
                SELECT a.ctid FROM left_out l CROSS JOIN LATERAL (\(activity("l.activity", isLocked: true))) a))
            RETURNING activity
            """,
            shard + [.int(range.after), .int(range.through), .int(limit)]
        )
    }

    /// Forgets stragglers whose activity is gone or set aside: nothing sends to them.
    package func pruneStragglers(by deadline: ContinuousClock.Instant) async throws(StoreError) {
        let statement = Self.forgetStragglers(
            where: """
                first_at < now() - interval '1 minute' AND NOT EXISTS (
                    SELECT FROM (SELECT refused_reason FROM activities x WHERE (x.tenant_id, x.match_id, x.activity)
                        = (s.tenant_id, s.match_id, s.activity) LIMIT 1) a WHERE a.refused_reason IS NULL)
                """,
            []
        )
        _ = try await query(statement.sql, statement.parameters, by: deadline)
    }
}

extension StragglerRow {
    fileprivate init(_ row: PGRow) {
        self.row = TokenRow(
            number: row.int(0),
            activity: row.wrapped(1),
            token: row.wrapped(2),
            registeredAt: row.moment(3)
        )
        cadence = row.value(4)
        facts = StragglerFacts(
            version: row.int(11),
            isUrgent: row.bool(12),
            alertVersion: row.int(13),
            attempts: Int(row.int(14)),
            isCovered: row.optionalBool(5) ?? false,
            hearsFromSweep: row.optionalBool(6) ?? false,
            isInDoubt: row.bool(7),
            isSwept: row.bool(17),
            isSweepNear: row.bool(8),
            isSweepRunning: row.bool(18),
            isExpired: row.bool(9)
        )
        pacing = row.isNull(15) ? PacingRecord() : PacingRecord(row, from: 15)
    }
}
