internal import PostgreSQL

/// What is behind, of all processes.
package struct Backlog: Sendable {
    /// Targets whose time has come and that nobody holds.
    package let due: Int
    package let sending: Int
    /// For pacing, or for an outage to end.
    package let waiting: Int
    package let oldestDueMilliseconds: Int64
    package let stragglersDue: Int
    package let stragglersWaiting: Int
}

extension Store {
    /// Counts what is behind, by the narrow indexes of what is due.
    package func backlog(by deadline: ContinuousClock.Instant) async throws(StoreError) -> Backlog {
        let row = try await query(
            """
            SELECT count(*) FILTER (WHERE due_at <= now() AND (lease_until IS NULL OR lease_until < now())),
                   count(*) FILTER (WHERE lease_until >= now()),
                   count(*) FILTER (WHERE due_at > now() AND (lease_until IS NULL OR lease_until < now())),
                   coalesce((extract(epoch FROM now() - min(due_at)
                       FILTER (WHERE due_at <= now() AND (lease_until IS NULL OR lease_until < now()))) * 1000), 0)::bigint,
                   (SELECT count(*) FROM stragglers WHERE due_at <= now()),
                   (SELECT count(*) FROM stragglers WHERE due_at > now())
            FROM targets WHERE due_at IS NOT NULL
            """,
            by: deadline
        )[0]
        return Backlog(
            due: Int(row.int(0)),
            sending: Int(row.int(1)),
            waiting: Int(row.int(2)),
            oldestDueMilliseconds: row.int(3),
            stragglersDue: Int(row.int(4)),
            stragglersWaiting: Int(row.int(5))
        )
    }
}
