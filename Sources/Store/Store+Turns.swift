internal import APNsProtocol
package import Core
internal import PostgreSQL

/// A finished turn, or what stragglers of one version came to.
package struct TurnRecord: Sendable {
    package let from: Int64
    package let to: Int64
    package let priority: Int
    /// When the version's event was accepted.
    package let acceptedAt: Moment
    package let counts: TurnCounts

    package init(from: Int64, to: Int64, priority: Int, acceptedAt: Moment, counts: TurnCounts) {
        self.from = from
        self.to = to
        self.priority = priority
        self.acceptedAt = acceptedAt
        self.counts = counts
    }

    /// Written only by who held the lease. The line begins where the one before ended.
    func statement(of target: TargetKey, epoch: Int64, isSuperseded: Bool = false) -> PGStatement {
        let first = 13
        return PGStatement(
            """
            INSERT INTO turns (tenant_id, match_id, kind, environment, cadence, shard, from_version, to_version,
                               priority, accepted_at, superseded, \(TurnCounts.columns))
            SELECT $1, $2, $3, $4, $5, $6::smallint, greatest($7::bigint, (
                       SELECT max(to_version) + 1 FROM turns
                       WHERE tenant_id = $1 AND match_id = $2 AND kind = $3 AND environment = $4 AND cadence = $5
                         AND shard = $6::smallint AND to_version < $8::bigint)),
                   $8, $9::smallint, $10::timestamptz, $11::boolean, \(TurnCounts.casts(from: first))
            WHERE EXISTS (SELECT FROM targets WHERE tenant_id = $1 AND match_id = $2 AND kind = $3
                AND environment = $4 AND cadence = $5 AND shard = $6::smallint AND lease_epoch = $12)
            ON CONFLICT DO NOTHING
            """,
            target.parameters + [
                .int(from), .int(to), .int(priority), .moment(acceptedAt), .bool(isSuperseded), .int(epoch),
            ] + counts.parameters
        )
    }

    /// Phones that the turn's superseded versions had not reached yet got the newest one instead: as many as the last
    /// round found beyond those.
    func mergeStatement(of target: TargetKey) -> PGStatement {
        PGStatement(
            """
            UPDATE turns SET merged = merged + $9 - wanted, wanted = $9
            WHERE tenant_id = $1 AND match_id = $2 AND kind = $3 AND environment = $4 AND cadence = $5 AND shard = $6
              AND to_version >= $7 AND to_version < $8 AND superseded AND wanted < $9
            """,
            target.parameters + [.int(from), .int(to), .int(counts.wanted)]
        )
    }
}

/// What a match's events have come to.
package struct Deliveries: Sendable {
    package let version: Int64
    package let mergedVersions: Int64
    package let sends: [Delivery]
    /// Per version and kind of target, oldest first.
    package let sums: [DeliverySum]
}

extension Store {
    /// What became of a match's versions, oldest first, those that are under way or wait last.
    ///
    /// - Returns: nil if the match is not there.
    package func deliveries(
        of match: MatchKey,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> Deliveries? {
        let results = try await tenant(
            match.tenant,
            by: deadline,
            [
                PGStatement(
                    """
                    SELECT version, merged_versions FROM matches
                    WHERE tenant_id = $1 AND match_id = $2 AND deleted_at IS NULL
                    """,
                    match.parameters
                ),
                PGStatement(Self.turnsSQL, match.parameters), PGStatement(Self.waitingSQL, match.parameters),
                PGStatement(Self.behindSQL, match.parameters), PGStatement(Self.answersSQL, match.parameters),
            ]
        )
        guard let row = results[0].first else { return nil }
        let waiting = results[2].map { row in
            WaitingStragglers(
                environment: row.value(0),
                cadence: row.value(1),
                shard: Int(row.int(2)),
                version: row.int(3),
                count: Int(row.int(4)),
                handed: Int(row.int(5)),
                since: row.time(6)
            )
        }
        let lines = results[1].map(DeliveryLine.init)
        let behind = results[3].map(BehindTarget.init)
        var answers: [DeliveryPlace.Side: LastAnswer] = [:]
        for row in results[4] {
            answers[.init(kind: row.value(0), environment: row.value(1))] = LastAnswer(
                text: row.text(2),
                at: row.time(3)
            )
        }
        return Deliveries(
            version: row.int(0),
            mergedVersions: row.int(1),
            sends: Delivery.all(lines, waiting, behind, answers),
            sums: DeliverySum.all(lines, waiting)
        )
    }

    /// Versions whose counts do not add up, at most `limit`, each in a sentence: nothing, unless there is a fault in
    /// Touchline itself. Reads all turns that are kept.
    package func sumsOff(limit: Int, by deadline: ContinuousClock.Instant) async throws(StoreError) -> [String] {
        try await query(
            "SELECT match_id, version, kind, environment, cadence, shard, what FROM touchline_sums_off($1::integer)",
            [.int(limit)],
            by: deadline
        ).map { row in
            "match \(row.text(0)), version \(row.int(1)), \(row.text(2)) \(row.text(3)) \(row.text(4)) "
                + "\(row.int(5)): \(row.text(6))"
        }
    }

    /// Finished turns, then what runs or waits. The cadence is the one that paces: without the app's declaration all are
    /// standard.
    private static let turnsSQL = """
        WITH lines AS (
            SELECT kind, environment, cadence, shard, from_version, to_version, 'done' AS state, priority,
                   \(TurnCounts.columns), over, accepted_at
            FROM turns WHERE tenant_id = $1 AND match_id = $2
            UNION ALL
            SELECT t.kind, t.environment, t.cadence, t.shard, t.reached_version + 1,
                   greatest(CASE WHEN t.turn_start IS NULL THEN m.version ELSE t.taken_version END,
                            t.reached_version + 1),
                   CASE WHEN t.lease_until > now() THEN 'sending' ELSE 'waiting' END, t.lap_priority,
                   \(prefixed(TurnCounts.columns)), 0, m.accepted_at
            FROM targets t JOIN matches m USING (tenant_id, match_id)
            WHERE t.tenant_id = $1 AND t.match_id = $2 AND t.due_at IS NOT NULL
              AND (t.turn_start IS NOT NULL OR m.version > t.reached_version)
        )
        SELECT l.kind, l.environment, l.cadence, l.shard, l.from_version, l.to_version, l.state, l.priority,
               \(TurnCounts.columns), l.over,
               (extract(epoch FROM l.first_push_at - l.accepted_at) * 1000)::bigint,
               (extract(epoch FROM l.last_push_at - l.accepted_at) * 1000)::bigint,
               (extract(epoch FROM l.first_push_at - l.held_at) * 1000)::bigint,
               coalesce(a.frequent_updates_declared, false)
        FROM lines l
        LEFT JOIN matches m ON m.tenant_id = $1 AND m.match_id = $2
        LEFT JOIN apps a ON a.tenant_id = $1 AND a.bundle = m.bundle AND a.environment = l.environment
        ORDER BY l.to_version, l.kind, l.environment, l.cadence, l.shard
        """

    private static let waitingSQL = """
        SELECT environment, cadence, shard, version, count(*), count(*) FILTER (WHERE is_handed), min(first_at)
        FROM stragglers WHERE tenant_id = $1 AND match_id = $2 GROUP BY 1, 2, 3, 4
        """

    /// Targets that are behind, whether they are due, wait or are held back; how many phones of theirs are, those with a push
    /// of their own included, and since when: the acceptance of the oldest version that they lack.
    private static let behindSQL = """
        SELECT t.kind, t.environment, t.cadence, t.reached_version + 1, m.version,
               CASE WHEN t.lease_until > now() THEN 'sending' ELSE 'waiting' END,
               CASE WHEN t.kind = 'channel' THEN 1 ELSE greatest(0, (
                   SELECT count(*) FROM activities a
                   WHERE a.tenant_id = $1 AND a.match_id = $2 AND a.environment = t.environment
                     AND a.cadence = t.cadence AND a.shard = t.shard AND a.refused_reason IS NULL)
                 - CASE WHEN t.turn_start IS NOT NULL AND t.taken_version = m.version
                        THEN t.accepted + t.given_up ELSE 0 END) END,
               coalesce((SELECT min(e.received_at) FROM events e
                         WHERE e.tenant_id = $1 AND e.match_id = $2 AND e.status = 'accepted'
                           AND e.version > t.reached_version), m.accepted_at),
               coalesce(p.frequent_updates_declared, false)
        FROM targets t JOIN matches m USING (tenant_id, match_id)
        LEFT JOIN apps p ON p.tenant_id = $1 AND p.bundle = m.bundle AND p.environment = t.environment
        WHERE t.tenant_id = $1 AND t.match_id = $2 AND m.version > t.reached_version
        """

    private static let answersSQL = """
        SELECT kind, environment, answer, answered_at FROM last_answers WHERE tenant_id = $1 AND match_id = $2
        """
}
