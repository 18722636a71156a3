internal import APNsProtocol
package import Core
internal import PostgreSQL

/// What an event would lead to: the match as the event's own transaction left it, which was then undone.
package struct EventPreview: Sendable {
    package let outcome: EventOutcome
    /// The match with the event, once for each environment.
    package let states: [MatchState]
    /// Of an `end`: the match when its hold is over; else empty.
    package let ends: [MatchState]
    /// Channels first, as they stood before the event.
    package let targets: [Target]

    /// A channel, also one that is not open yet, or a shard of tokens.
    package struct Target: Sendable {
        package let key: TargetKey
        package var sweep: Sweep
        /// nil: tokens.
        package let channel: ChannelRecord?
        /// Update tokens that are not set aside.
        package let tokens: Int
        package let highestRow: Int64
    }
}

extension Store {
    /// Accepts an event as ``accept(_:bodyDigest:match:tenant:endHold:by:)`` does, looks at what it did, and undoes it.
    ///
    /// The match's row is locked only from the event on, and nobody else sees any of it.
    package func preview(
        _ incoming: IncomingEvent,
        tenant: TenantID,
        endHold: Duration = EndHold.hold,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> EventPreview {
        let match = MatchKey(tenant: tenant, match: incoming.match)
        let states = APNsEnvironment.allCases.map { MatchState.statement(match, $0) }
        let isEnd = incoming.event.kind == .end
        let end = [PGStatement("SELECT touchline_end($1, $2)", match.parameters)] + states
        let statements =
            [
                PGStatement(Self.previewedTargetsSQL, match.parameters), "SAVEPOINT preview",
                Self.statement(incoming, tenant: tenant, endHold: endHold),
            ] + states + (isEnd ? end : []) + ["ROLLBACK TO SAVEPOINT preview"]
        let results = try await tenantTransaction(tenant, by: deadline) { connection in
            try await connection.pipeline(statements, by: deadline)
        }
        let first = 3 + states.count + 1
        return EventPreview(
            outcome: results[2].first.map { EventOutcome($0) } ?? .matchNotFound,
            states: results[3..<3 + states.count].flatMap { $0.map { MatchState($0) } },
            ends: isEnd ? results[first..<first + states.count].flatMap { $0.map { MatchState($0) } } : [],
            targets: results[0].map(EventPreview.Target.init)
        )
    }

    /// A channel that is not open has no target yet.
    private static let previewedTargetsSQL = """
        SELECT k.tenant_id, k.match_id, k.kind, k.environment, k.cadence, k.shard, a.number, a.highest,
               t.tenant_id IS NOT NULL, \(prefixed(Sweep.columns)), \(ChannelRecord.columns)
        FROM (SELECT tenant_id, match_id, kind, environment, cadence, shard FROM targets
              WHERE tenant_id = $1 AND match_id = $2
              UNION SELECT tenant_id, match_id, 'channel', environment, cadence, 0::smallint FROM channels
              WHERE tenant_id = $1 AND match_id = $2 AND state <> 'deleted') AS k
        LEFT JOIN targets t ON (t.tenant_id, t.match_id, t.kind, t.environment, t.cadence, t.shard)
            = (k.tenant_id, k.match_id, k.kind, k.environment, k.cadence, k.shard)
        LEFT JOIN channels c ON k.kind = 'channel' AND (c.tenant_id, c.match_id, c.environment, c.cadence)
            = (k.tenant_id, k.match_id, k.environment, k.cadence)
        CROSS JOIN LATERAL (
            SELECT count(*) AS number, coalesce(max(row_no), 0) AS highest FROM activities
            WHERE k.kind = 'tokens' AND tenant_id = k.tenant_id AND match_id = k.match_id
              AND environment = k.environment AND cadence = k.cadence AND shard = k.shard AND refused_reason IS NULL
        ) AS a
        ORDER BY k.kind, k.environment, k.cadence, k.shard
        """
}

extension EventPreview.Target {
    /// A row of the targets' statement.
    fileprivate init(_ row: PGRow) {
        let sweep = 9
        let channel = sweep + Sweep.columns.split(separator: ",").count
        key = row.targetKey(0)
        tokens = Int(row.int(6))
        highestRow = row.int(7)
        self.sweep = row.bool(8) ? Sweep(row, from: sweep) : Sweep()
        self.channel = row.isNull(channel) ? nil : ChannelRecord(row, from: channel)
    }
}
