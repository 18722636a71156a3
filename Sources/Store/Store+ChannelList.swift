package import Core
internal import PostgreSQL

extension Store {
    /// A tenant's channels, by match, environment and cadence.
    package func channels(
        of tenant: TenantID,
        after: (match: String, environment: String, cadence: String)?,
        limit: Int,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> Page<ChannelRecord> {
        let rows = try await self.tenant(
            tenant,
            by: deadline,
            """
            SELECT \(ChannelRecord.columns) FROM channels c
            WHERE c.tenant_id = $1
              AND ($2::text IS NULL OR (c.match_id, c.environment, c.cadence) > ($2, $3::text, $4::text))
            ORDER BY c.match_id, c.environment, c.cadence LIMIT $5
            """,
            [.text(tenant), .text(after?.match), .text(after?.environment), .text(after?.cadence), .int(limit + 1)]
        ).map { ChannelRecord($0) }
        return Page(rows, limit: limit)
    }
}
