internal import APNsProtocol
internal import Core
internal import PostgreSQL

// An update token is one activity's. An app that was installed anew, or lost its ids, reports its phone's token under another
// activity or match, and the phone would be sent everything twice.
//
// After a registration is committed, it is looked for others with its token: so two that come at the same time are seen by one of
// the two at least. The newest stays, by `registered_at`, then match and activity.
extension Store {
    /// Activities with a token of the array `$2` (environments in `$3`) that another one has reported later.
    static let outlivedSQL = """
        SELECT DISTINCT a.match_id, a.activity
        FROM (SELECT token, environment, hashtextextended(token, 0) AS hash
              FROM unnest($2::text[], $3::text[]) AS u (token, environment) OFFSET 0) i
        CROSS JOIN LATERAL (
            SELECT * FROM (\(holders("i"))) h
            ORDER BY registered_at DESC, match_id COLLATE "C" DESC, activity COLLATE "C" DESC OFFSET 1
        ) a
        """

    /// The activities that hold the token of `row`, a hundred at most. The order, beside a range that is one value, says by which
    /// index: PostgreSQL would read all of a tenant's activities while it knows nothing of the table.
    private static func holders(_ row: String, hash: String = "hash") -> String {
        """
        SELECT match_id, activity, registered_at FROM activities
        WHERE tenant_id = $1 AND token_hash >= \(row).\(hash) AND token_hash <= \(row).\(hash) AND token = \(row).token
          AND environment = \(row).environment
        ORDER BY token_hash LIMIT 100
        """
    }

    /// Removes the activities of a result of ``outlivedSQL``, each with its straggler, unless they were reported again meanwhile.
    ///
    /// Match by match, and within a match stragglers before activities, each in their order: as registrations and pages lock
    /// them.
    func removeOutlived(
        _ found: PGResult,
        of tenant: TenantID,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) {
        let keys = found.map { RegistrationBatch.Key($0.wrapped(0), $0.wrapped(1)) }.sorted()
        guard !keys.isEmpty else { return }
        var statements: [PGStatement] = []
        var rest = keys[...]
        while let match = rest.first?.match {
            let part = rest.prefix { $0.match == match }
            rest = rest.dropFirst(part.count)
            let parameters: [PGValue] = [.text(tenant), .text(match), .textArray(part.map(\.activity.text))]
            statements += Self.lockOutlivedSQL.map { PGStatement($0, parameters) }
            // One by one: by their keys, whatever the planner believes.
            for key in part {
                let one: [PGValue] = [.text(tenant), .text(match), .text(key.activity)]
                statements += [
                    PGStatement(Self.deleteOutlivedSQL, one), Self.forgetStragglers(where: Self.isWithoutActivity, one),
                ]
            }
        }
        _ = try await self.tenant(tenant, by: deadline, statements)
    }

    private static let lockOutlivedSQL = ["stragglers", "activities"].map { table in
        """
        SELECT 1 FROM unnest($3::text[]) AS i (activity) CROSS JOIN LATERAL (
            SELECT FROM \(table) WHERE tenant_id = $1 AND match_id = $2 AND activity = i.activity LIMIT 1 FOR UPDATE) x
        """
    }

    /// Of rows that are locked: what has been reported again since stays.
    private static let deleteOutlivedSQL = """
        DELETE FROM activities i WHERE i.tenant_id = $1 AND i.match_id = $2 AND i.activity = $3 AND EXISTS (
            SELECT FROM (\(holders("i", hash: "token_hash"))) n
            WHERE (n.registered_at, n.match_id COLLATE "C", n.activity COLLATE "C")
                > (i.registered_at, i.match_id COLLATE "C", i.activity COLLATE "C"))
        """

    private static let isWithoutActivity = """
        s.tenant_id = $1 AND s.match_id = $2 AND s.activity = $3 AND NOT EXISTS (
            SELECT FROM activities WHERE tenant_id = $1 AND match_id = $2 AND activity = $3)
        """
}
