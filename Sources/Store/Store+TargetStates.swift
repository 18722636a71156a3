internal import APNsProtocol
package import Core
internal import PostgreSQL

/// How far a target has come.
package struct TargetState: Sendable {
    package let key: TargetKey
    /// As phones are paced: `standard` where the app does not declare frequent updates.
    package let cadence: Cadence
    /// The version that it has reached; behind, if the match's is higher.
    package let reached: Int64
    /// When it is to be sent to; nil while nothing is to be sent, or may be.
    package let dueAt: Timestamp?
}

extension Store {
    /// The targets of a match, channels first.
    package func targetStates(
        of match: MatchKey,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> [TargetState] {
        try await tenant(
            match.tenant,
            by: deadline,
            """
            SELECT t.tenant_id, t.match_id, t.kind, t.environment, t.cadence, t.shard, t.reached_version, t.due_at,
                   coalesce(a.frequent_updates_declared, false)
            FROM targets t
            JOIN matches m USING (tenant_id, match_id)
            LEFT JOIN apps a ON (a.tenant_id, a.bundle, a.environment) = (m.tenant_id, m.bundle, t.environment)
            WHERE t.tenant_id = $1 AND t.match_id = $2
            ORDER BY t.kind, t.environment, t.cadence, t.shard
            """,
            match.parameters
        ).map { row in
            let key = row.targetKey(0)
            return TargetState(
                key: key,
                cadence: key.cadence == .frequent && !row.bool(8) ? .standard : key.cadence,
                reached: row.int(6),
                dueAt: row.optionalTime(7)
            )
        }
    }
}
