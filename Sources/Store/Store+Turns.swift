package import APNsProtocol
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

    /// Written only by who held the lease.
    func statement(of target: TargetKey, epoch: Int64) -> PGStatement {
        PGStatement(
            """
            INSERT INTO turns (tenant_id, match_id, kind, environment, cadence, shard, from_version, to_version,
                               priority, accepted_at, \(TurnCounts.columns))
            SELECT $1, $2, $3, $4, $5, $6::smallint, $7::bigint, $8::bigint, $9::smallint, $10::timestamptz,
                   $11::integer, $12::integer, $13::integer, $14::integer, $15::integer, $16::integer, $17::integer,
                   $18::timestamptz, $19::timestamptz
            WHERE EXISTS (SELECT FROM targets WHERE tenant_id = $1 AND match_id = $2 AND kind = $3
                AND environment = $4 AND cadence = $5 AND shard = $6::smallint AND lease_epoch = $20)
            ON CONFLICT DO NOTHING
            """,
            target.parameters + [.int(from), .int(to), .int(priority), .moment(acceptedAt)] + counts.parameters
                + [.int(epoch)]
        )
    }

    /// Adds to what stragglers of the version have come to.
    func stragglerStatement(of target: TargetKey) -> PGStatement {
        let sums = TurnCounts.columns.split(separator: ", ").prefix(7).map { "\($0) = t.\($0) + excluded.\($0)" }
        return PGStatement(
            """
            INSERT INTO turns AS t (tenant_id, match_id, kind, environment, cadence, shard, from_version, to_version,
                                    priority, accepted_at, \(TurnCounts.columns))
            VALUES ($1, $2, 'stragglers', $3, $4, 0, $5, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
            ON CONFLICT (tenant_id, match_id, kind, environment, cadence, shard, to_version) DO UPDATE
            SET \(sums.joined(separator: ", ")), last_push_at = greatest(t.last_push_at, excluded.last_push_at)
            """,
            target.match.parameters + [
                .text(target.environment.rawValue), .text(target.cadence.rawValue), .int(to), .int(priority),
                .moment(acceptedAt),
            ] + counts.parameters
        )
    }
}

/// One line of a match's deliveries.
package struct Delivery: Sendable {
    package enum State: String, Sendable {
        case waiting
        case sending
        case done
    }

    package let kind: TargetKind
    package let environment: APNsEnvironment
    package let cadence: Cadence
    package let shard: Int
    /// Pushes to single tokens that were sent apart from a sweep.
    package let isOfStragglers: Bool
    package let fromVersion: Int64
    package let toVersion: Int64
    package let state: State
    package let priority: Int
    package let counts: TurnCounts
    /// Tokens that still get a push of their own.
    package let waiting: Int
    /// From the event's acceptance, milliseconds; nil while nothing was sent.
    package let firstPushMilliseconds: Int64?
    package let lastPushMilliseconds: Int64?
}

/// What a match's events have come to.
package struct Deliveries: Sendable {
    package let version: Int64
    package let mergedVersions: Int64
    package let turns: [Delivery]
}

extension Store {
    /// The turns of a match, oldest version first, those that run or wait last.
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
                PGStatement(Self.turnsSQL, match.parameters),
            ]
        )
        guard let row = results[0].first else { return nil }
        return Deliveries(version: row.int(0), mergedVersions: row.int(1), turns: results[1].map(Delivery.init))
    }

    private static let isNewestTokenLine = "l.kind = 'tokens' AND row_number() OVER newest = 1"

    /// Finished turns, then what runs or waits; stragglers that wait are counted with their shard's newest line.
    private static let turnsSQL = """
        WITH lines AS (
            SELECT kind, environment, cadence, shard, from_version, to_version, 'done' AS state, priority,
                   \(TurnCounts.columns), accepted_at
            FROM turns WHERE tenant_id = $1 AND match_id = $2
            UNION ALL
            SELECT t.kind, t.environment, t.cadence, t.shard, t.reached_version + 1,
                   greatest(CASE WHEN t.turn_start IS NULL THEN m.version ELSE t.taken_version END,
                            t.reached_version + 1),
                   CASE WHEN t.lease_until > now() THEN 'sending' ELSE 'waiting' END, t.lap_priority,
                   t.wanted, t.accepted, t.removed, t.refused, t.given_up, t.resent, t.downgraded, t.first_push_at,
                   t.last_push_at, m.accepted_at
            FROM targets t JOIN matches m USING (tenant_id, match_id)
            WHERE t.tenant_id = $1 AND t.match_id = $2 AND t.due_at IS NOT NULL
              AND (t.turn_start IS NOT NULL OR m.version > t.reached_version)
        ), waiting AS (
            SELECT a.environment, a.cadence, a.shard, count(*) AS tokens
            FROM stragglers s CROSS JOIN LATERAL (\(activity("s.activity"))) a
            WHERE s.tenant_id = $1 AND s.match_id = $2 GROUP BY 1, 2, 3
        )
        SELECT l.kind, l.environment, l.cadence, l.shard, l.from_version, l.to_version, l.state, l.priority,
               l.wanted + CASE WHEN \(isNewestTokenLine) THEN coalesce(w.tokens, 0) ELSE 0 END,
               l.accepted, l.removed, l.refused, l.given_up, l.resent, l.downgraded, l.first_push_at,
               l.last_push_at,
               CASE WHEN \(isNewestTokenLine) THEN coalesce(w.tokens, 0) ELSE 0 END,
               (extract(epoch FROM l.first_push_at - l.accepted_at) * 1000)::bigint,
               (extract(epoch FROM l.last_push_at - l.accepted_at) * 1000)::bigint
        FROM lines l LEFT JOIN waiting w USING (environment, cadence, shard)
        WINDOW newest AS (PARTITION BY l.kind, l.environment, l.cadence, l.shard ORDER BY l.to_version DESC)
        ORDER BY l.to_version, l.kind, l.environment, l.cadence, l.shard
        """
}

extension Delivery {
    fileprivate init(_ row: PGRow) {
        let stored = row.text(0)
        isOfStragglers = stored == "stragglers"
        kind = stored == TargetKind.channel.rawValue ? .channel : .tokens
        environment = row.value(1)
        cadence = row.value(2)
        shard = Int(row.int(3))
        fromVersion = row.int(4)
        toVersion = row.int(5)
        state = row.value(6)
        priority = Int(row.int(7))
        counts = TurnCounts(row, from: 8)
        waiting = Int(row.int(17))
        firstPushMilliseconds = row.optionalInt(18)
        lastPushMilliseconds = row.optionalInt(19)
    }
}
