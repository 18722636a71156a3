package import Core
package import PostgreSQL

/// A token that needs a later push of its own, as it is written down.
package struct Straggler: Sendable {
    package let activity: ActivityID
    /// The version that it failed to get.
    package let version: Int64
    package let isUrgent: Bool
    /// The alert that it has not had; 0: none.
    package let alertVersion: Int64
    package let attempts: Int
    package let delay: Duration

    package init(
        activity: ActivityID,
        version: Int64,
        isUrgent: Bool,
        alertVersion: Int64,
        attempts: Int,
        delay: Duration
    ) {
        self.activity = activity
        self.version = version
        self.isUrgent = isUrgent
        self.alertVersion = alertVersion
        self.attempts = attempts
        self.delay = delay
    }

    /// A token has one straggler at most: the newer failure stands for the older one, and an alert not had is kept.
    static func statement(_ stragglers: [Straggler], of match: MatchKey) -> PGStatement {
        PGStatement(
            """
            INSERT INTO stragglers AS s (tenant_id, match_id, activity, version, urgent, alert_version, attempts,
                                         due_at)
            SELECT $1, $2, n.activity, n.version, n.urgent, n.alert_version, n.attempts,
                   clock_timestamp() + make_interval(secs => n.delay / 1000.0)
            FROM unnest($3::text[], $4::bigint[], $5::boolean[], $6::bigint[], $7::smallint[], $8::bigint[])
                AS n (activity, version, urgent, alert_version, attempts, delay)
            CROSS JOIN LATERAL (\(Store.activity("n.activity"))) a
            ON CONFLICT (tenant_id, match_id, activity) DO UPDATE
            SET version = excluded.version, urgent = excluded.urgent OR s.urgent, attempts = excluded.attempts,
                alert_version = greatest(s.alert_version, excluded.alert_version), due_at = excluded.due_at
            """,
            match.parameters + [
                .textArray(stragglers.map(\.activity.text)), .int8Array(stragglers.map(\.version)),
                .boolArray(stragglers.map(\.isUrgent)), .int8Array(stragglers.map(\.alertVersion)),
                .int8Array(stragglers.map { Int64($0.attempts) }),
                .int8Array(stragglers.map(\.delay.wholeMilliseconds)),
            ]
        )
    }
}

/// A straggler that this process has claimed, with its token.
package struct ClaimedStraggler: Sendable {
    package let match: MatchKey
    package let row: TokenRow
    package let target: TargetKey
    package let version: Int64
    package let isUrgent: Bool
    package let alertVersion: Int64
    package let attempts: Int
    /// Until when the claim holds; it is also the mark that the claim is still ours.
    package let claimedUntil: PGTimestamp
    /// The version that its shard has reached by sweeping since.
    package let sweptVersion: Int64
}
