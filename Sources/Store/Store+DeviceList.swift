package import APNsProtocol
package import Core
internal import PostgreSQL

/// A phone that follows topics, without its token.
package struct DeviceRecord: Sendable {
    package let device: DeviceID
    package let bundle: BundleID
    package let environment: APNsEnvironment
    package let hasToken: Bool
    /// Why APNs refused its token; nil: it did not.
    package let refusedReason: String?
    package let supportsChannels: Bool
    package let allowsFrequentUpdates: Bool
    package let topics: [String]
    package let showing: [String]
}

extension Store {
    /// A tenant's devices, by id.
    package func devices(
        of tenant: TenantID,
        after: String?,
        limit: Int,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> Page<DeviceRecord> {
        let rows = try await self.tenant(
            tenant,
            by: deadline,
            """
            SELECT device, bundle, environment, push_to_start_token IS NOT NULL, refused_reason, supports_channels,
                   frequent, topics, showing
            FROM devices WHERE tenant_id = $1 AND ($2::text IS NULL OR device > $2) ORDER BY device LIMIT $3
            """,
            [.text(tenant), .text(after), .int(limit + 1)]
        ).map { row in
            DeviceRecord(
                device: row.wrapped(0),
                bundle: row.wrapped(1),
                environment: row.value(2),
                hasToken: row.bool(3),
                refusedReason: row.optionalText(4),
                supportsChannels: row.bool(5),
                allowsFrequentUpdates: row.bool(6),
                topics: row.textArray(7).compactMap { $0 },
                showing: row.textArray(8).compactMap { $0 }
            )
        }
        return Page(rows, limit: limit)
    }
}
