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
    /// So many stragglers of a match wait at most. A phone beyond gets the next version only, which is counted.
    package static let mostStragglers = 50_000

    /// Registers activities of one match; see ``register(_:of:by:)``.
    package func register(
        _ registrations: [ActivityRegistration],
        match: MatchKey,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> [ActivityAnswer] {
        try await register(registrations.map { (match.match, $0) }, of: match.tenant, by: deadline)
    }

    /// Registers activities of a tenant, any number, of any of its matches, in two round trips.
    ///
    /// Insert, commit, *then* compare the match's version with the one that the phone shows: reading the version first
    /// would leave a gap that neither this nor a sweep sees. An activity that comes twice in one call counts as its last.
    /// An update token is the newest registration's: other activities with it go, in a third round trip (``OneToken``).
    /// - Returns: An answer for each, in order.
    package func register(
        _ registrations: [(match: MatchID, registration: ActivityRegistration)],
        of tenant: TenantID,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> [ActivityAnswer] {
        let batch = RegistrationBatch(registrations)
        let stored = try await self.tenant(
            tenant,
            by: deadline,
            [Self.lockForNewShardsSQL, Self.newShardsSQL].map { PGStatement($0, batch.places(tenant)) }
                + [PGStatement(Self.upsertSQL, batch.rows(tenant))]
        )[2]
        // A match without a row is not there; a row without an activity has no app in its environment.
        var rows: [RegistrationBatch.Key: FormerRow?] = [:]
        var matches: Set<MatchID> = []
        for row in stored {
            let match = row.wrapped(0, as: MatchID.self)
            matches.insert(match)
            guard !row.isNull(1) else { continue }
            rows[RegistrationBatch.Key(match, row.wrapped(1))] = .some(FormerRow(row, from: 2))
        }
        let results = try await self.tenant(
            tenant,
            by: deadline,
            [compare(batch, rows, tenant), PGStatement(Self.outlivedSQL, batch.tokens(tenant))]
        )
        try await removeOutlived(results[1], of: tenant, by: deadline)
        let compared = results[0]
        var versions: [MatchID: Int64] = [:]
        var behind: Set<RegistrationBatch.Key> = []
        for row in compared {
            let match = row.wrapped(0, as: MatchID.self)
            versions[match] = row.int(1)
            if !row.isNull(2) { behind.insert(RegistrationBatch.Key(match, row.wrapped(2))) }
        }
        return registrations.map { match, registration in
            let key = RegistrationBatch.Key(match, registration.activity)
            guard matches.contains(match) else { return .matchNotFound }
            guard rows[key] != nil else { return .noApp }
            return .stored(version: versions[match] ?? 0, behind: behind.contains(key))
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
        let removed = PGStatement(
            "DELETE FROM activities WHERE tenant_id = $1 AND match_id = $2 AND activity = $3",
            parameters
        )
        let statements = [
            removed, Self.forgetStragglers(where: "tenant_id = $1 AND match_id = $2 AND activity = $3", parameters),
        ]
        return try await tenant(match.tenant, by: deadline, statements)[0].affectedRows == 1
    }

    /// The places that a batch's registrations go to, as `r`: tenant `$1`, and distinct by match, environment and setting.
    /// The cadence is the phone's own setting; what the app declares is looked at when a push is paced.
    private static let placesSQL = """
        SELECT m.match_id, i.environment, CASE WHEN i.allows THEN 'frequent' ELSE 'standard' END AS cadence, s.shard
        FROM unnest($2::text[], $3::text[], $4::boolean[]) AS i (match_id, environment, allows)
        JOIN matches m ON m.tenant_id = $1 AND m.match_id = i.match_id AND m.deleted_at IS NULL
        JOIN apps a ON a.tenant_id = m.tenant_id AND a.bundle = m.bundle AND a.environment = i.environment
        CROSS JOIN LATERAL (SELECT n::smallint AS shard FROM generate_series(0, m.token_shards - 1) AS n) s
        WHERE NOT EXISTS (
            SELECT FROM targets t WHERE t.tenant_id = $1 AND t.match_id = m.match_id AND t.kind = 'tokens'
              AND (t.environment, t.shard) = (i.environment, s.shard)
              AND t.cadence = CASE WHEN i.allows THEN 'frequent' ELSE 'standard' END)
        """

    /// A shard's first token makes its target, under the match's lock: an event either sees the target and marks it, or
    /// came before, and then the registrations see its version.
    private static let lockForNewShardsSQL = """
        SELECT 1 FROM matches WHERE tenant_id = $1 AND match_id IN (SELECT r.match_id FROM (\(placesSQL)) r)
        ORDER BY match_id FOR UPDATE
        """

    /// Whoever registers in a shard that was not there compares with the match's version, which no sweep brings to it.
    private static let newShardsSQL = """
        INSERT INTO targets (tenant_id, match_id, kind, environment, cadence, shard, reached_version, taken_version,
                             urgent_version, alert_version, made_version)
        SELECT DISTINCT $1, r.match_id, 'tokens', r.environment, r.cadence, r.shard, m.version, m.version,
               m.urgent_version, m.alert_version, m.version
        FROM (\(placesSQL)) r JOIN matches m ON m.tenant_id = $1 AND m.match_id = r.match_id
        ON CONFLICT DO NOTHING
        """

    /// A row that changes its place or its token gets a new number: one number is one token for ever. Every registration
    /// renews `registered_xid`, which tells a sweep whether the row is its own. Of one call, what came later is newer.
    ///
    /// Answers a row for each registration of a match that is there; its activity is NULL where the app is not there. Then
    /// comes where the phone's row was before, if it was in the same environment.
    private static let upsertSQL = """
        WITH i AS MATERIALIZED (
            SELECT m.match_id, i.activity, i.token, i.environment, i.device, i.place, a.bundle IS NOT NULL AS has_app,
                   CASE WHEN i.allows THEN 'frequent' ELSE 'standard' END AS cadence,
                   ((hashtextextended(i.activity, 0) & 2147483647) % m.token_shards)::smallint AS shard
            FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::boolean[], $7::text[], $8::bigint[])
                AS i (match_id, activity, token, environment, allows, device, place)
            CROSS JOIN LATERAL (
                SELECT * FROM matches x WHERE x.tenant_id = $1 AND x.match_id = i.match_id AND x.deleted_at IS NULL
                LIMIT 1) m
            LEFT JOIN LATERAL (
                SELECT bundle FROM apps x
                WHERE x.tenant_id = $1 AND x.bundle = m.bundle AND x.environment = i.environment LIMIT 1) a ON true
        ), former AS MATERIALIZED (
            SELECT i.*, o.cadence AS old_cadence, o.shard AS old_shard, o.row_no AS old_row, o.registered_xid AS old_xid
            FROM i LEFT JOIN LATERAL (
                SELECT environment, cadence, shard, row_no, registered_xid FROM activities o
                WHERE o.tenant_id = $1 AND o.match_id = i.match_id AND o.activity = i.activity LIMIT 1
            ) o ON o.environment = i.environment
        ), stored AS (
            INSERT INTO activities AS a (tenant_id, match_id, activity, environment, cadence, shard, token, device,
                                         registered_at)
            SELECT $1, i.match_id, i.activity, i.environment, i.cadence, i.shard, i.token, i.device,
                   n.at + i.place * interval '1 microsecond'
            FROM former i, (SELECT clock_timestamp() AS at OFFSET 0) n
            WHERE i.has_app
            ON CONFLICT (tenant_id, match_id, activity) DO UPDATE SET
                row_no = CASE WHEN (a.token, a.environment, a.cadence, a.shard)
                    = (excluded.token, excluded.environment, excluded.cadence, excluded.shard)
                    THEN a.row_no ELSE excluded.row_no END,
                environment = excluded.environment, cadence = excluded.cadence, shard = excluded.shard,
                token = excluded.token, device = excluded.device, refused_reason = NULL, refused_at = NULL,
                registered_at = excluded.registered_at, registered_xid = excluded.registered_xid
        )
        SELECT match_id, CASE WHEN has_app THEN activity END, old_cadence, old_shard, old_row,
               old_xid::text::bigint FROM former
        """

    /// Answers the matches' versions, with each activity that lacks its own.
    private func compare(
        _ batch: RegistrationBatch,
        _ rows: [RegistrationBatch.Key: FormerRow?],
        _ tenant: TenantID
    ) -> PGStatement {
        let known = batch.ordered.filter { rows[$0.key] != nil }
        let former = known.map { rows[$0.key] ?? nil }
        var slices: [(match: MatchID, begin: Int, end: Int)] = []
        for (index, entry) in known.enumerated() {
            if slices.last?.match == entry.key.match {
                slices[slices.count - 1].end = index + 1
            } else {
                slices.append((entry.key.match, index + 1, index + 1))
            }
        }
        return PGStatement(
            """
            SELECT match_id, version, activity FROM touchline_compare($1, $2::text[], $3::integer[], $4::integer[],
                $5::text[], $6::bigint[], $7::text[], $8::smallint[], $9::bigint[], $10::bigint[], $11::integer)
            """,
            [
                .text(tenant), .textArray(slices.map(\.match.text)), .int8Array(slices.map { Int64($0.begin) }),
                .int8Array(slices.map { Int64($0.end) }), .textArray(known.map(\.key.activity.text)),
                .int8Array(known.map(\.registration.shownVersion)), .textArray(former.map(\.?.cadence)),
                .int8Array(former.map(\.?.shard)), .int8Array(former.map(\.?.number)),
                .int8Array(former.map(\.?.transaction)), .int(Self.mostStragglers),
            ]
        )
    }
}

/// Where a phone's row was before a registration moved or renewed it.
private struct FormerRow {
    let cadence: String
    let shard: Int64
    let number: Int64
    /// Which had registered it.
    let transaction: Int64?

    /// Columns: cadence, shard, row number, transaction; nil: the phone is new.
    init?(_ row: PGRow, from column: Int) {
        guard let number = row.optionalInt(column + 2) else { return nil }
        self.number = number
        cadence = row.text(column)
        shard = row.int(column + 1)
        transaction = row.optionalInt(column + 3)
    }
}
