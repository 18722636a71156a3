internal import APNsProtocol
internal import Core
internal import PostgreSQL

// Keeping a claim, and giving it back.
extension Store {
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
        let renewal = PGStatement(
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
            Self.arrays(of: keys) + [.int8Array(keys.map { leases[$0] }), .seconds(lease)]
        )
        return Set(try await pipeline([Self.unhurried, renewal], by: deadline)[1].map { $0.targetKey(0) })
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

    /// Marks everything of an app that is behind as due, single phones and channels that could not be made included: after a
    /// pause, a stop or a new credential.
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
        // While nothing may go, they are put off by a minute at a time. Who is being sent to stays claimed.
        let stragglers = PGStatement(
            """
            UPDATE stragglers s SET due_at = clock_timestamp()
            FROM matches m
            WHERE m.tenant_id = $1 AND m.bundle = $2 AND s.tenant_id = m.tenant_id AND s.match_id = m.match_id
              AND s.environment = $3 AND s.due_at > clock_timestamp() AND NOT s.is_sending
            """,
            key
        )
        _ = try await pipeline([targets, channels, stragglers], by: deadline)
    }
}
