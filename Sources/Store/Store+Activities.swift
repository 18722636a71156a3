package import APNsProtocol
package import Core
internal import PostgreSQL

/// A phone's report of its Live Activity.
package struct ActivityRegistration: Sendable {
    package let activity: ActivityID
    package let token: DeviceToken
    package let environment: APNsEnvironment
    package let allowsFrequentUpdates: Bool
    package let device: DeviceID?
    /// The version that the phone shows, if it knows.
    package let shownVersion: Int64?

    package init(
        activity: ActivityID,
        token: DeviceToken,
        environment: APNsEnvironment,
        allowsFrequentUpdates: Bool,
        device: DeviceID? = nil,
        shownVersion: Int64? = nil
    ) {
        self.activity = activity
        self.token = token
        self.environment = environment
        self.allowsFrequentUpdates = allowsFrequentUpdates
        self.device = device
        self.shownVersion = shownVersion
    }
}

/// What became of a registration.
package enum ActivityAnswer: Equatable, Sendable {
    /// - Parameters:
    ///   - version: The match's.
    ///   - behind: The phone lacks it, and gets a push of its own at once.
    case stored(version: Int64, behind: Bool)
    /// The match's app does not exist in this environment.
    case noApp
    /// No such match, or it was deleted.
    case matchNotFound
}

extension Store {
    /// Registers activities of one match, any number in two round trips.
    ///
    /// Insert, commit, *then* compare the match's version with the one that the phone shows: reading the version first
    /// would leave a gap that neither this nor a sweep sees. An activity that comes twice in one call counts as its last.
    /// - Returns: An answer for each, in order.
    package func register(
        _ registrations: [ActivityRegistration],
        match: MatchKey,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> [ActivityAnswer] {
        // Sorted, so that two bulks lock rows in the same order.
        var last: [ActivityID: ActivityRegistration] = [:]
        for registration in registrations { last[registration.activity] = registration }
        let distinct = last.values.sorted { $0.activity.text < $1.activity.text }

        let stored = try await tenant(match.tenant, by: deadline, upsert(distinct, of: match))
        guard let shards = stored[0].first?.optionalInt(0) else {
            return registrations.map { _ in .matchNotFound }
        }
        precondition(shards > 0, "a match has \(shards) shards")
        let known = Set(stored[stored.count - 1].map { $0.wrapped(0, as: ActivityID.self) })
        let compared = try await tenant(match.tenant, by: deadline, [compare(distinct, with: match)])[0]
        let behind = Set(compared.filter { !$0.isNull(1) }.map { $0.wrapped(1, as: ActivityID.self) })
        let version = compared.first?.int(0) ?? 0
        return registrations.map { registration in
            guard known.contains(registration.activity) else { return .noApp }
            return .stored(version: version, behind: behind.contains(registration.activity))
        }
    }

    /// Removes an activity: it ended on the phone, or was dismissed.
    ///
    /// - Returns: false: there was none.
    package func removeActivity(
        _ activity: ActivityID,
        match: MatchKey,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> Bool {
        let parameters = match.parameters + [.text(activity)]
        let results = try await tenant(
            match.tenant,
            by: deadline,
            [
                PGStatement(
                    "DELETE FROM stragglers WHERE tenant_id = $1 AND match_id = $2 AND activity = $3",
                    parameters
                ),
                PGStatement(
                    "DELETE FROM activities WHERE tenant_id = $1 AND match_id = $2 AND activity = $3",
                    parameters
                ),
            ]
        )
        return results[1].affectedRows == 1
    }

    /// A shard's first token makes its target, under the match's lock: an event either sees the target and marks it, or
    /// came before, and then the registrations see its version.
    private func upsert(_ registrations: [ActivityRegistration], of match: MatchKey) -> [PGStatement] {
        let input =
            match.parameters + [
                .textArray(registrations.map(\.activity.text)), .textArray(registrations.map(\.token.text)),
                .textArray(registrations.map(\.environment.rawValue)),
                .boolArray(registrations.map(\.allowsFrequentUpdates)),
                .textArray(registrations.map(\.device?.text)),
            ]
        return [
            PGStatement(
                "SELECT token_shards FROM matches WHERE tenant_id = $1 AND match_id = $2 AND deleted_at IS NULL",
                match.parameters
            ),
            PGStatement(Self.lockForNewShardsSQL, input),
            PGStatement(Self.newShardsSQL, input),
            PGStatement(Self.upsertSQL, input),
        ]
    }

    /// The registrations with cadence and shard, as `r`. The cadence is the phone's own setting; what the app declares is
    /// looked at when a push is paced.
    private static let placedSQL = """
        SELECT i.activity, i.token, i.environment, i.device,
               CASE WHEN i.allows THEN 'frequent' ELSE 'standard' END AS cadence,
               ((hashtextextended(i.activity, 0) & 2147483647) % m.token_shards)::smallint AS shard, m.version
        FROM unnest($3::text[], $4::text[], $5::text[], $6::boolean[], $7::text[])
            AS i (activity, token, environment, allows, device)
        JOIN matches m ON m.tenant_id = $1 AND m.match_id = $2 AND m.deleted_at IS NULL
        JOIN apps a ON a.tenant_id = m.tenant_id AND a.bundle = m.bundle AND a.environment = i.environment
        """

    private static let lockForNewShardsSQL = """
        SELECT 1 FROM matches WHERE tenant_id = $1 AND match_id = $2 AND EXISTS (
            SELECT FROM (\(placedSQL)) r WHERE NOT EXISTS (
                SELECT FROM targets t WHERE t.tenant_id = $1 AND t.match_id = $2 AND t.kind = 'tokens'
                  AND (t.environment, t.cadence, t.shard) = (r.environment, r.cadence, r.shard)))
        FOR UPDATE
        """

    private static let newShardsSQL = """
        INSERT INTO targets (tenant_id, match_id, kind, environment, cadence, shard, reached_version, taken_version,
                             urgent_version, alert_version)
        SELECT DISTINCT $1, $2, 'tokens', r.environment, r.cadence, r.shard, m.version, m.version, m.urgent_version,
                        m.alert_version
        FROM (\(placedSQL)) r JOIN matches m ON m.tenant_id = $1 AND m.match_id = $2
        ON CONFLICT DO NOTHING
        """

    /// A row that changes its place or its token gets a new number: a sweep under way has not seen it, and a straggler
    /// brings it what it lacks.
    private static let upsertSQL = """
        INSERT INTO activities AS a (tenant_id, match_id, activity, environment, cadence, shard, token, device)
        SELECT $1, $2, r.activity, r.environment, r.cadence, r.shard, r.token, r.device
        FROM (\(placedSQL)) r ORDER BY r.activity
        ON CONFLICT (tenant_id, match_id, activity) DO UPDATE SET
            row_no = CASE WHEN (a.token, a.environment, a.cadence, a.shard)
                = (excluded.token, excluded.environment, excluded.cadence, excluded.shard)
                THEN a.row_no ELSE excluded.row_no END,
            environment = excluded.environment, cadence = excluded.cadence, shard = excluded.shard,
            token = excluded.token, device = excluded.device, refused_reason = NULL,
            registered_at = clock_timestamp()
        RETURNING activity
        """

    /// Answers the match's version with each activity that lacks it, at least one row.
    private func compare(_ registrations: [ActivityRegistration], with match: MatchKey) -> PGStatement {
        PGStatement(
            """
            WITH m AS (
                SELECT version, urgent_version, alert_version, end_version FROM matches
                WHERE tenant_id = $1 AND match_id = $2
            ), behind AS (
                INSERT INTO stragglers AS s (tenant_id, match_id, activity, version, urgent, alert_version)
                SELECT $1, $2, i.activity, m.version,
                       m.urgent_version > coalesce(i.shown, m.version - 1),
                       CASE WHEN i.shown < m.alert_version THEN m.alert_version ELSE 0 END
                FROM m, unnest($3::text[], $4::bigint[]) AS i (activity, shown)
                CROSS JOIN LATERAL (\(Self.activity("i.activity"))) a
                WHERE m.version > 0 AND coalesce(i.shown, 0) < m.version
                ON CONFLICT (tenant_id, match_id, activity) DO UPDATE
                SET version = excluded.version, urgent = excluded.urgent, attempts = 0,
                    alert_version = excluded.alert_version, due_at = excluded.due_at
                RETURNING activity
            )
            SELECT m.version, b.activity FROM m LEFT JOIN behind b ON true
            """,
            match.parameters + [
                .textArray(registrations.map(\.activity.text)), .int8Array(registrations.map(\.shownVersion)),
            ]
        )
    }
}
