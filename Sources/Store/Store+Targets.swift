internal import APNsProtocol
package import Core
internal import PostgreSQL

/// A target that is due and that nobody holds.
package struct DueTarget: Equatable, Sendable {
    package let key: TargetKey
    /// It lacks a key version.
    package let isUrgent: Bool
    package let dueAt: Moment
}

// Claiming targets and keeping the claim.
extension Store {
    /// The targets that are due and not leased, longest due first.
    ///
    /// - Returns: At most `limit`; and when the next one becomes due, if none is now.
    package func dueTargets(
        limit: Int,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> (due: [DueTarget], next: Duration?) {
        let results = try await pipeline(
            [
                PGStatement(
                    """
                    SELECT t.tenant_id, t.match_id, t.kind, t.environment, t.cadence, t.shard, t.due_at,
                           coalesce(m.urgent_version > t.urgent_version, false)
                    FROM targets t LEFT JOIN matches m USING (tenant_id, match_id)
                    WHERE t.due_at <= now() AND (t.lease_until IS NULL OR t.lease_until < now())
                    ORDER BY t.due_at LIMIT $1
                    """,
                    [.int(limit)]
                ),
                PGStatement(
                    """
                    SELECT (extract(epoch FROM min(greatest(due_at, lease_until)) - now()) * 1000)::bigint
                    FROM targets WHERE due_at IS NOT NULL AND (due_at > now() OR lease_until > now())
                    """
                ),
            ],
            by: deadline
        )
        let due = results[0].map {
            DueTarget(key: $0.targetKey(0), isUrgent: $0.bool(7), dueAt: $0.moment(6))
        }
        return (due, results[1].first?.optionalInt(0).map { .milliseconds(max(0, $0)) })
    }

    /// Takes those of `keys` that are still due and free.
    ///
    /// Compare-and-set, one statement, committed at once.
    package func claim(
        _ keys: [TargetKey],
        owner: String,
        lease: Duration,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> [TargetRecord] {
        let result = try await query(
            """
            UPDATE targets t
            SET lease_owner = $7, lease_epoch = t.lease_epoch + 1, lease_until = now() + make_interval(secs => $8)
            FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::smallint[])
                AS k (tenant_id, match_id, kind, environment, cadence, shard)
            WHERE (t.tenant_id, t.match_id, t.kind, t.environment, t.cadence, t.shard)
                = (k.tenant_id, k.match_id, k.kind, k.environment, k.cadence, k.shard)
              AND t.due_at <= now() AND (t.lease_until IS NULL OR t.lease_until < now())
            RETURNING t.tenant_id, t.match_id, t.kind, t.environment, t.cadence, t.shard, t.lease_epoch, t.backoff,
                \(Self.prefixed(Sweep.columns)), \(Self.prefixed(TurnCounts.columns))
            """,
            Self.arrays(of: keys) + [.text(owner), .seconds(lease)],
            by: deadline
        )
        return result.map { row in
            TargetRecord(
                key: row.targetKey(0),
                epoch: row.int(6),
                sweep: Sweep(row, from: 8),
                backoff: Int(row.int(7)),
                counts: TurnCounts(row, from: 24)
            )
        }
    }

    /// Renews all leases of a process in one statement.
    ///
    /// Rows are locked in the order of their keys, as bulks of events lock theirs.
    /// - Returns: Those that are still held.
    package func renew(
        _ leases: [TargetKey: Int64],
        lease: Duration,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> Set<TargetKey> {
        let keys = Array(leases.keys)
        let result = try await query(
            """
            WITH held AS (
                SELECT t.tenant_id, t.match_id, t.kind, t.environment, t.cadence, t.shard
                FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::smallint[], $7::bigint[])
                    AS k (tenant_id, match_id, kind, environment, cadence, shard, epoch)
                JOIN targets t USING (tenant_id, match_id, kind, environment, cadence, shard)
                WHERE t.lease_epoch = k.epoch AND t.lease_until IS NOT NULL
                ORDER BY t.tenant_id, t.match_id, t.kind, t.environment, t.cadence, t.shard
                FOR UPDATE OF t
            )
            UPDATE targets t SET lease_until = now() + make_interval(secs => $8)
            FROM held h
            WHERE (t.tenant_id, t.match_id, t.kind, t.environment, t.cadence, t.shard)
                = (h.tenant_id, h.match_id, h.kind, h.environment, h.cadence, h.shard)
            RETURNING t.tenant_id, t.match_id, t.kind, t.environment, t.cadence, t.shard
            """,
            Self.arrays(of: keys) + [.int8Array(keys.map { leases[$0] }), .seconds(lease)],
            by: deadline
        )
        return Set(result.map { $0.targetKey(0) })
    }

    /// Gives a claimed target back as it stands in the database.
    package func giveBack(
        _ record: TargetRecord,
        after delay: Duration,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) {
        _ = try await query(
            """
            UPDATE targets SET lease_until = NULL, due_at = now() + make_interval(secs => $8)
            WHERE tenant_id = $1 AND match_id = $2 AND kind = $3 AND environment = $4 AND cadence = $5 AND shard = $6
              AND lease_epoch = $7 AND lease_until IS NOT NULL
            """,
            record.key.parameters + [.int(record.epoch), .seconds(delay)],
            by: deadline
        )
    }

    /// Marks everything of an app that is behind as due, channels that could not be made included: after a pause, a stop or
    /// a new credential.
    package func markBehind(_ app: AppKey, by deadline: ContinuousClock.Instant) async throws(StoreError) {
        let key: [PGValue] = [.text(app.tenant), .text(app.bundle), .text(app.environment.rawValue)]
        let targets = PGStatement(
            """
            UPDATE targets t SET due_at = clock_timestamp(), backoff = 0
            FROM matches m
            WHERE m.tenant_id = $1 AND m.bundle = $2 AND t.tenant_id = m.tenant_id AND t.match_id = m.match_id
              AND t.environment = $3 AND m.version > t.reached_version
              AND (t.due_at IS NULL OR t.due_at > clock_timestamp())
            """,
            key
        )
        // One without an attempt waits for its match's kick-off.
        let channels = PGStatement(
            """
            UPDATE channels SET next_at = clock_timestamp()
            WHERE tenant_id = $1 AND bundle = $2 AND environment = $3 AND state = 'pending' AND attempts > 0
              AND (next_at IS NULL OR next_at > clock_timestamp())
            """,
            key
        )
        _ = try await pipeline([targets, channels], by: deadline)
    }

    private static func prefixed(_ columns: String) -> String {
        columns.split(separator: ", ").map { "t.\($0)" }.joined(separator: ", ")
    }

    private static func arrays(of keys: [TargetKey]) -> [PGValue] {
        [
            .textArray(keys.map { $0.match.tenant.text }), .textArray(keys.map { $0.match.match.text }),
            .textArray(keys.map { $0.kind.rawValue }), .textArray(keys.map { $0.environment.rawValue }),
            .textArray(keys.map { $0.cadence.rawValue }), .int8Array(keys.map { Int64($0.shard) }),
        ]
    }
}
