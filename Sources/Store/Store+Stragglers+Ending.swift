internal import APNsProtocol
package import Core
internal import PostgreSQL

/// What one batch of stragglers' pushes came to.
package struct StragglerReport: Sendable {
    /// The version that went out.
    package let version: Int64
    package let priority: Int
    package let isDowngraded: Bool
    /// The alert that went with it, by its version; 0: none.
    package var alertVersion: Int64 = 0
    /// When the version's event was accepted.
    package let acceptedAt: Moment
    package let firstPushAt: Moment
    package let lastPushAt: Moment
    package var ends: [StragglerEnd: [ClaimedStraggler]] = [:]
    /// What was sent to.
    package var rows: [ActivityID: TokenRow] = [:]
    /// To be tried again, as failed so often.
    package var retries: [(straggler: ClaimedStraggler, attempts: Int, carriesAlert: Bool, delay: Duration)] = []
    /// Dead and refused tokens.
    package var result = PageResult()
    /// Activities that got their `end`: nothing will be sent to them any more.
    package var ended: [ActivityID] = []

    package init(
        version: Int64,
        priority: Int,
        isDowngraded: Bool,
        acceptedAt: Moment,
        firstPushAt: Moment,
        lastPushAt: Moment
    ) {
        self.version = version
        self.priority = priority
        self.isDowngraded = isDowngraded
        self.acceptedAt = acceptedAt
        self.firstPushAt = firstPushAt
        self.lastPushAt = lastPushAt
    }
}

// Writing what became of stragglers. Each is counted once, in the transaction that ends it, if it is still ours.
extension Store {
    /// Writes what became of claimed stragglers of one match.
    ///
    /// - Parameters:
    ///   - match: Whose.
    ///   - report: What became of them.
    ///   - deadline: For the round trip.
    /// - Returns: Whether some are due again, since their phones have registered again meanwhile.
    /// - Throws: ``StoreError``.
    @discardableResult
    package func finishStragglers(
        of match: MatchKey,
        _ report: StragglerReport,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> Bool {
        var fates = report.ends.flatMap { end, stragglers in
            stragglers.map { Fate($0, accepted: end == .accepted ? report.rows[$0.activity] : nil) }
        }
        fates += report.retries.map { Fate($0.straggler, delay: $0.delay) }
        var statements = fates.isEmpty ? [] : [Self.wantAgain(fates, of: match, alertVersion: report.alertVersion)]
        if let accepted = report.ends[.accepted], !accepted.isEmpty, report.alertVersion > 0 {
            statements.append(Self.keepAlerted(accepted, of: match, report.alertVersion))
        }
        for (end, stragglers) in report.ends.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            statements.append(Self.end(stragglers, as: end, of: match, report))
        }
        if !report.retries.isEmpty { statements.append(Self.retry(report, of: match)) }
        let done = (report.ends[.accepted] ?? []) + (report.ends[.givenUp] ?? [])
        if !done.isEmpty { statements.append(Self.follow(done, of: match, past: report.version)) }
        statements += outcomeStatements(report.result, of: match)
        if !report.ended.isEmpty {
            statements.append(
                PGStatement(
                    """
                    DELETE FROM activities WHERE ctid = ANY (ARRAY(
                        SELECT a.ctid FROM unnest($3::text[]) AS d (activity)
                        CROSS JOIN LATERAL (\(Self.activity("d.activity", isLocked: true))) a
                        WHERE NOT EXISTS (SELECT FROM stragglers s
                            WHERE (s.tenant_id, s.match_id, s.activity) = ($1, $2, d.activity))))
                    """,
                    match.parameters + [.textArray(report.ended.map(\.text))]
                )
            )
        }
        guard !statements.isEmpty else { return false }
        let results = try await pipeline(statements, by: deadline)
        return !fates.isEmpty && results[0].affectedRows > 0
    }

    /// What a claim came to.
    private struct Fate {
        let straggler: ClaimedStraggler
        /// The row that APNs accepted a push for.
        let accepted: TokenRow?
        /// No sooner may it be tried again.
        let delay: Duration

        init(_ straggler: ClaimedStraggler, accepted: TokenRow? = nil, delay: Duration = .zero) {
            self.straggler = straggler
            self.accepted = accepted
            self.delay = delay
        }
    }

    /// Makes due again whose phone has registered again since its row was read to be sent to: without the alert, if that was
    /// brought. What follows finds them no longer claimed.
    private static func wantAgain(
        _ fates: [Fate],
        of match: MatchKey,
        alertVersion: Int64
    ) -> PGStatement {
        // It locks all rows, in one order.
        let fates = fates.sorted { $0.straggler.activity.text < $1.straggler.activity.text }
        return PGStatement(
            """
            WITH again AS MATERIALIZED (
                SELECT s.place, d.token IS NOT NULL AS is_accepted, d.delay
                FROM unnest($3::text[], $4::timestamptz[], $5::bigint[], $6::text[], $7::timestamptz[])
                    AS d (activity, claimed_until, delay, token, registered_at)
                CROSS JOIN LATERAL (
                    SELECT ctid AS place, due_at, is_wanted_again FROM stragglers
                    WHERE tenant_id = $1 AND match_id = $2 AND activity = d.activity LIMIT 1 FOR UPDATE) s
                WHERE s.due_at = d.claimed_until AND s.is_wanted_again AND NOT EXISTS (
                    SELECT FROM (\(activity("d.activity"))) a
                    WHERE a.token = d.token AND date_trunc('milliseconds', a.registered_at) <= d.registered_at)
            )
            UPDATE stragglers s SET is_sending = false, is_wanted_again = false,
                due_at = clock_timestamp() + make_interval(secs => again.delay / 1000.0),
                alert_version = CASE WHEN again.is_accepted AND s.alert_version <= $8 THEN 0 ELSE s.alert_version END
            FROM again WHERE s.ctid = again.place
            """,
            claims(fates.map(\.straggler), of: match) + [
                .int8Array(fates.map(\.delay.wholeMilliseconds)), .textArray(fates.map(\.accepted?.token.text)),
                .timestampArray(
                    fates.map { fate in
                        fate.accepted.map { PGTimestamp(unixMilliseconds: $0.registeredAt.milliseconds) }
                    }
                ),
                .int(alertVersion),
            ]
        )
    }

    /// These phones have the alert now, wherever they go next.
    private static func keepAlerted(
        _ stragglers: [ClaimedStraggler],
        of match: MatchKey,
        _ alertVersion: Int64
    ) -> PGStatement {
        PGStatement(
            """
            UPDATE activities SET alerted_version = $5 WHERE ctid = ANY (ARRAY(
                SELECT a.ctid FROM unnest($3::text[], $4::timestamptz[]) AS d (activity, claimed_until)
                CROSS JOIN LATERAL (
                    SELECT due_at, alert_version FROM stragglers
                    WHERE tenant_id = $1 AND match_id = $2 AND activity = d.activity LIMIT 1) s
                CROSS JOIN LATERAL (\(activity("d.activity", isLocked: true))) a
                WHERE s.due_at = d.claimed_until AND s.alert_version BETWEEN 1 AND $5))
            """,
            claims(stragglers, of: match) + [.int(alertVersion)]
        )
    }

    /// Ends stragglers that need no push of their own: a sweep brings the version, or nobody is there.
    ///
    /// - Parameters:
    ///   - ends: What becomes of them.
    ///   - result: Dead tokens.
    ///   - match: Whose.
    ///   - version: The match's, as this was decided.
    ///   - deadline: For the round trip.
    /// - Throws: ``StoreError``.
    package func endStragglers(
        _ ends: [StragglerEnd: [ClaimedStraggler]],
        _ result: PageResult,
        of match: MatchKey,
        at version: Int64,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) {
        var statements = ends.filter { !$0.value.isEmpty }.map { end, stragglers in
            PGStatement(
                Self.counted(
                    Self.deleted(where: "s.due_at = d.claimed_until"),
                    """
                    SELECT $1, $2, environment, cadence, shard, version, $5, count(*),
                           count(*) FILTER (WHERE is_handed)
                    FROM gone GROUP BY environment, cadence, shard, version
                    """
                ),
                Self.claims(stragglers, of: match) + [.text(end.rawValue)]
            )
        }
        guard !statements.isEmpty else { return }
        let fates = ends.values.joined().map { Fate($0) }
        statements.insert(Self.wantAgain(fates, of: match, alertVersion: 0), at: 0)
        if let merged = ends[.merged], !merged.isEmpty {
            statements.append(Self.follow(merged, of: match, past: version))
        }
        _ = try await pipeline(statements + outcomeStatements(result, of: match), by: deadline)
    }

    /// The match has got a newer stamp since `version` was read, and its end or a page of its sweep has left these phones to
    /// their stragglers: they get the newer version by themselves too. Behind what ended them, so that either this sees that
    /// they were left out, or they were not.
    private static func follow(
        _ stragglers: [ClaimedStraggler],
        of match: MatchKey,
        past version: Int64
    ) -> PGStatement {
        PGStatement(
            """
            WITH m AS MATERIALIZED (\(stampSQL))
            INSERT INTO stragglers (tenant_id, match_id, activity, version, urgent, alert_version, environment, cadence, shard)
            SELECT $1, $2, a.activity, m.version, m.urgent_version > $4, 0, a.environment, a.cadence, a.shard
            FROM m CROSS JOIN unnest($3::text[]) AS d (activity) CROSS JOIN LATERAL (\(activity("d.activity"))) a
            WHERE m.version = m.stamped_version AND m.version > $4
              AND a.refused_reason IS NULL AND NOT \(isSeen("stamp_snapshot"))
            ON CONFLICT DO NOTHING
            """,
            match.parameters + [.textArray(stragglers.map(\.activity.text)), .int(version)]
        )
    }

    /// They are looked at again after a while, as they are.
    package func postponeStragglers(
        _ stragglers: [ClaimedStraggler],
        of match: MatchKey,
        for delay: Duration,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) {
        _ = try await query(
            """
            UPDATE stragglers SET due_at = clock_timestamp() + make_interval(secs => $5), is_sending = false,
                is_wanted_again = false WHERE ctid = ANY (ARRAY(
                \(Self.claimedSQL(where: "s.due_at = d.claimed_until"))))
            """,
            Self.claims(stragglers, of: match) + [.seconds(delay)],
            by: deadline
        )
    }

    /// Deletes stragglers `s` for which `condition` holds, and counts them as removed.
    static func forgetStragglers(where condition: String, _ parameters: [PGValue]) -> PGStatement {
        PGStatement(
            counted(
                "DELETE FROM stragglers s WHERE \(condition)",
                """
                SELECT tenant_id, match_id, environment, cadence, shard, version, 'removed', count(*),
                       count(*) FILTER (WHERE is_handed)
                FROM gone GROUP BY tenant_id, match_id, environment, cadence, shard, version
                """
            ),
            parameters
        )
    }

    /// Deletes, and counts what went by `summed`: the arguments of `touchline_count_gone`, a row for each line.
    private static func counted(_ deletion: String, _ summed: String) -> String {
        """
        WITH gone AS (
            \(deletion) RETURNING tenant_id, match_id, environment, cadence, shard, version, is_handed
        )
        SELECT touchline_count_gone(l.tenant, l.match, l.environment, l.cadence, l.shard, l.version, l.what, l.number,
                                    l.handed)
        FROM (\(summed)) AS l (tenant, match, environment, cadence, shard, version, what, number, handed)
        ORDER BY l.tenant, l.match, l.environment, l.cadence, l.shard, l.version
        """
    }

    /// Match, then activities and claims of stragglers: `$1` to `$4`.
    static func claims(_ stragglers: [ClaimedStraggler], of match: MatchKey) -> [PGValue] {
        match.parameters + [
            .textArray(stragglers.map(\.activity.text)), .timestampArray(stragglers.map(\.claimedUntil)),
        ]
    }

    /// The places of the claimed stragglers that are still there, and locked then.
    private static func claimedSQL(where condition: String) -> String {
        """
        SELECT s.ctid FROM unnest($3::text[], $4::timestamptz[]) AS d (activity, claimed_until)
        CROSS JOIN LATERAL (
            SELECT ctid, due_at FROM stragglers
            WHERE tenant_id = $1 AND match_id = $2 AND activity = d.activity LIMIT 1 FOR UPDATE) s
        WHERE \(condition)
        """
    }

    private static func deleted(where condition: String) -> String {
        "DELETE FROM stragglers WHERE ctid = ANY (ARRAY(\(claimedSQL(where: condition))))"
    }

    /// A push of the version `$5` counts with that; for the version that the straggler lacked, it is merged.
    private static func end(
        _ stragglers: [ClaimedStraggler],
        as end: StragglerEnd,
        of match: MatchKey,
        _ report: StragglerReport
    ) -> PGStatement {
        let ends: [StragglerEnd] = [.accepted, .removed, .refused, .givenUp, .merged]
        let sums = ends.map { "count(*) FILTER (WHERE what = '\($0.rawValue)')" }.joined(separator: ", ")
        return PGStatement(
            """
            WITH gone AS (
                \(deleted(where: "s.due_at = d.claimed_until"))
                RETURNING environment, cadence, shard, version, is_handed
            ), lines AS (
                SELECT environment, cadence, shard, version, is_handed,
                       CASE WHEN version = $5::bigint THEN $6::text ELSE 'merged' END AS what FROM gone
                UNION ALL
                SELECT environment, cadence, shard, $5, false, $6 FROM gone WHERE version < $5
            ), summed AS (
                SELECT environment, cadence, shard, version, count(*) AS wanted, ARRAY[\(sums)] AS ends,
                       count(*) FILTER (WHERE is_handed) AS handed
                FROM lines GROUP BY environment, cadence, shard, version
            )
            SELECT touchline_count($1, $2, environment, cadence, shard, version,
                       CASE WHEN version = $5 THEN $7::timestamptz END,
                       CASE WHEN version = $5 THEN $8::smallint ELSE 5::smallint END, wanted, ends[1], ends[2], ends[3], ends[4],
                       ends[5], handed, 0, 0, CASE WHEN version = $5 AND $9::boolean THEN wanted ELSE 0 END,
                       CASE WHEN version = $5 THEN $10::timestamptz END,
                       CASE WHEN version = $5 THEN $11::timestamptz END)
            FROM summed ORDER BY environment, cadence, shard, version
            """,
            claims(stragglers, of: match) + [
                .int(report.version), .text(end.rawValue), .moment(report.acceptedAt), .int(report.priority),
                .bool(report.isDowngraded), .moment(report.firstPushAt), .moment(report.lastPushAt),
            ]
        )
    }

    /// Whoever failed with a newer version than the one that it lacked lacks the newer one from now on. And who was left out of
    /// a sweep meanwhile does not wait as long for what that has brought to all others.
    private static func retry(_ report: StragglerReport, of match: MatchKey) -> PGStatement {
        let retries = report.retries
        return PGStatement(
            """
            WITH m AS MATERIALIZED (\(stampSQL)), old AS MATERIALIZED (
                SELECT s.*, d.attempts, d.carries_alert, CASE WHEN EXISTS (
                        SELECT FROM m CROSS JOIN LATERAL (\(activity("d.activity"))) a
                        WHERE m.stamped_version > $5 AND NOT \(isSeen("stamp_snapshot")))
                    THEN least(d.delay, 1000) ELSE d.delay END AS delay
                FROM unnest($3::text[], $4::timestamptz[], $6::bigint[], $7::boolean[], $8::bigint[])
                    AS d (activity, claimed_until, attempts, carries_alert, delay)
                CROSS JOIN LATERAL (
                    SELECT ctid AS place, due_at, environment, cadence, shard, version, is_handed FROM stragglers
                    WHERE tenant_id = $1 AND match_id = $2 AND activity = d.activity LIMIT 1 FOR UPDATE) s
                WHERE s.due_at = d.claimed_until
            ), again AS (
                UPDATE stragglers s SET version = $5, is_handed = s.is_handed AND s.version = $5,
                    attempts = old.attempts, doubt_row = NULL, is_sending = false, is_wanted_again = false,
                    alert_version = CASE WHEN old.carries_alert THEN s.alert_version ELSE 0 END,
                    due_at = clock_timestamp() + make_interval(secs => old.delay / 1000.0)
                FROM old WHERE s.ctid = old.place
            ), summed AS (
                SELECT environment, cadence, shard, version, count(*) AS number,
                       count(*) FILTER (WHERE is_handed) AS handed
                FROM old GROUP BY environment, cadence, shard, version
            )
            SELECT touchline_count($1, $2, environment, cadence, shard, version, NULL, 5::smallint,
                       CASE WHEN version < $5 THEN number ELSE 0 END, 0, 0, 0, 0,
                       CASE WHEN version < $5 THEN number ELSE 0 END, CASE WHEN version < $5 THEN handed ELSE 0 END, 0,
                       CASE WHEN version = $5 THEN number ELSE 0 END, 0, NULL, NULL)
            FROM summed ORDER BY environment, cadence, shard, version
            """,
            claims(retries.map(\.straggler), of: match) + [
                .int(report.version), .int8Array(retries.map { Int64($0.attempts) }),
                .boolArray(retries.map(\.carriesAlert)), .int8Array(retries.map(\.delay.wholeMilliseconds)),
            ]
        )
    }
}
