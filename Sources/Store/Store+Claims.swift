internal import APNsProtocol
package import Core
internal import PostgreSQL

/// How many targets a process can take.
package struct ClaimRoom: Equatable, Sendable {
    /// Of all kinds.
    package var all: Int
    /// Of them, shards of tokens: sweeps last, and must not take the last places from channels.
    package var tokens: Int

    package init(all: Int, tokens: Int) {
        self.all = max(0, all)
        self.tokens = max(0, min(tokens, all))
    }
}

/// A target that was just claimed.
package struct ClaimedTarget: Sendable {
    package let record: TargetRecord
    /// Of a channel: its match and itself, as they were when it was claimed.
    package let channel: (state: MatchState, channel: ChannelRecord)?
}

// Choosing among what is due, and claiming it.
extension Store {
    /// Claims targets that are due and that nobody holds, as many as there is room for.
    ///
    /// If there is room for all, one statement takes them, whatever their order. Else they are read first, the longest due
    /// of each tenant and rank, and taken in the order of ``ClaimOrder``. Committed at once, without waiting for the disk:
    /// a claim that a crash of the database takes back is another's claim, under a higher epoch.
    ///
    /// - Parameters:
    ///   - room: How many.
    ///   - running: How many targets of a tenant this process runs already.
    ///   - owner: Names this process.
    ///   - lease: How long the claim holds.
    ///   - deadline: For each of two round trips at most.
    /// - Returns: The claimed, first to be run first; and when the next target becomes due, as far as is known.
    /// - Throws: ``StoreError``.
    package func claimDue(
        _ room: ClaimRoom,
        running: [TenantID: Int],
        owner: String,
        lease: Duration,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> (claimed: [ClaimedTarget], next: Duration?) {
        guard room.all > 0 else { return ([], nil) }
        let results = try await pipeline(
            [
                PGStatement(Self.claimAllSQL, [.text(owner), .seconds(lease), .int(room.all), .int(room.tokens)]),
                Self.nextDue,
            ],
            by: deadline
        )
        let next = results[1].first?.optionalInt(0).map { Duration.milliseconds(max(0, $0)) }
        let claimed = results[0].filter { !$0.isNull(1) }.map(ClaimedTarget.init)
        // Claimed are all or none.
        guard let due = results[0].first?.int(0), due > 0, claimed.isEmpty else {
            return (claimed.sorted { $0.rank < $1.rank }, next)
        }
        let keys = try await chooseDue(room, running: running, by: deadline)
        guard !keys.isEmpty else { return ([], next) }
        let places = Dictionary(uniqueKeysWithValues: zip(keys, 0...))
        let chosen = try await pipeline(
            [
                PGStatement(Self.claimChosenSQL, [.text(owner), .seconds(lease)] + Self.arrays(of: keys)),
                Self.unhurried,
            ],
            by: deadline
        )[0].filter { !$0.isNull(1) }.map(ClaimedTarget.init)
        return (chosen.sorted { places[$0.record.key, default: 0] < places[$1.record.key, default: 0] }, next)
    }

    /// Reads the due set and chooses from it.
    private func chooseDue(
        _ room: ClaimRoom,
        running: [TenantID: Int],
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> [TargetKey] {
        let rows = try await query(Self.dueByTenantSQL, [.int(room.all), .bool(room.tokens > 0)], by: deadline)
        let candidates = rows.map { row in
            ClaimOrder.Candidate(
                tenant: row.wrapped(0, as: TenantID.self),
                isUrgent: row.bool(7),
                kind: row.value(2),
                dueAt: row.moment(6)
            )
        }
        return ClaimOrder.chosen(candidates, running: running, places: room.all, tokens: room.tokens)
            .map { rows[$0].targetKey(0) }
    }

    /// When the next target becomes due. Leases that run out are found by looking again.
    private static let nextDue = PGStatement(
        """
        SELECT (extract(epoch FROM (SELECT min(due_at) FROM targets WHERE due_at > now()) - now()) * 1000)::bigint,
               set_config('synchronous_commit', 'off', true)
        """
    )

    /// For a transaction whose loss does no harm: it does not wait for the disk.
    static let unhurried = PGStatement("SELECT set_config('synchronous_commit', 'off', true)")

    private static let isDueAndFree = "due_at <= now() AND (lease_until IS NULL OR lease_until < now())"

    /// Takes all that is due, if it is no more than `$3`, and `$4` of tokens.
    private static let claimAllSQL = claimSQL(
        due: """
            SELECT tenant_id, match_id, kind, environment, cadence, shard FROM targets
            WHERE \(isDueAndFree) ORDER BY due_at LIMIT $3 + 1
            """,
        condition: "(SELECT count(*) <= $3 AND count(*) FILTER (WHERE kind = 'tokens') <= $4 FROM due)"
    )

    /// Takes those named by `$3` to `$8` that are still due and free.
    private static let claimChosenSQL = claimSQL(
        due: """
            SELECT * FROM unnest($3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::smallint[])
                AS k (tenant_id, match_id, kind, environment, cadence, shard)
            """,
        condition: "true"
    )

    /// Compare-and-set. Always one row at least, whose first column is the number of what was due.
    ///
    /// Epochs rise with the clock: one that a crash of the database took back is not given twice.
    private static func claimSQL(due: String, condition: String) -> String {
        """
        WITH due AS MATERIALIZED (\(due)), claimed AS (
            UPDATE targets t
            SET lease_owner = $1, lease_until = now() + make_interval(secs => $2),
                lease_epoch = greatest(t.lease_epoch + 1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)
            FROM due k
            WHERE \(condition)
              AND (t.tenant_id, t.match_id, t.kind, t.environment, t.cadence, t.shard)
                = (k.tenant_id, k.match_id, k.kind, k.environment, k.cadence, k.shard)
              AND t.due_at <= now() AND (t.lease_until IS NULL OR t.lease_until < now())
            RETURNING t.*
        )
        SELECT d.number, t.tenant_id, t.match_id, t.kind, t.environment, t.cadence, t.shard, t.urgent, t.lease_epoch,
            t.backoff, \(prefixed(Sweep.columns)), \(prefixed(TurnCounts.columns)),
            \(MatchState.columns), \(ChannelRecord.columns)
        FROM (SELECT count(*) AS number FROM due) d
        LEFT JOIN claimed t ON true
        LEFT JOIN channels c ON t.kind = 'channel'
            AND (c.tenant_id, c.match_id, c.environment, c.cadence)
              = (t.tenant_id, t.match_id, t.environment, t.cadence)
        LEFT JOIN matches m ON c.tenant_id IS NOT NULL AND (m.tenant_id, m.match_id) = (c.tenant_id, c.match_id)
        \(MatchState.joins("c.environment"))
        """
    }

    /// The first of each tenant and rank, at most `$1` of each, with tokens only if `$2`.
    ///
    /// Of a flood that is larger still, the longest due are looked at: whoever comes later waits for those to go.
    private static let dueByTenantSQL = """
        SELECT tenant_id, match_id, kind, environment, cadence, shard, due_at, urgent
        FROM (SELECT *, row_number() OVER (PARTITION BY urgent, kind, tenant_id ORDER BY due_at) AS place
              FROM (SELECT tenant_id, match_id, kind, environment, cadence, shard, due_at, urgent FROM targets
                    WHERE \(isDueAndFree) AND ($2 OR kind = 'channel') ORDER BY due_at LIMIT 20000) AS due) AS ranked
        WHERE place <= $1
        ORDER BY place, NOT urgent, kind, due_at LIMIT 2048
        """

    static func prefixed(_ columns: String) -> String {
        columns.split(separator: ", ").map { "t.\($0)" }.joined(separator: ", ")
    }

    static func arrays(of keys: [TargetKey]) -> [PGValue] {
        [
            .textArray(keys.map { $0.match.tenant.text }), .textArray(keys.map { $0.match.match.text }),
            .textArray(keys.map { $0.kind.rawValue }), .textArray(keys.map { $0.environment.rawValue }),
            .textArray(keys.map { $0.cadence.rawValue }), .int8Array(keys.map { Int64($0.shard) }),
        ]
    }
}

extension ClaimedTarget {
    fileprivate init(_ row: PGRow) {
        record = TargetRecord(
            key: row.targetKey(1),
            epoch: row.int(8),
            isUrgent: row.bool(7),
            sweep: Sweep(row, from: 10),
            backoff: Int(row.int(9)),
            counts: TurnCounts(row, from: 26)
        )
        let match = 26 + TurnCounts.columnCount
        let channels = match + MatchState.columnCount
        channel = row.isNull(match) ? nil : (MatchState(row, from: match), ChannelRecord(row, from: channels))
    }

    fileprivate var rank: Int { (record.isUrgent ? 0 : 2) + (record.key.kind == .channel ? 0 : 1) }
}
