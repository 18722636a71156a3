package import Core
internal import Crypto
internal import PostgreSQL

/// A customer.
package struct TenantRecord: Sendable {
    package let id: TenantID
    package let name: String
    package let createdAt: Timestamp
    package let pausedAt: Timestamp?
}

// Tenants are the operator's affair: these run as the owner of the tables.
extension Store {
    package func createTenant(
        name: String,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> TenantRecord {
        let id = "t_" + Hex.encode(SecureRandom.bytes(8))
        let rows = try await owner(
            by: deadline,
            "INSERT INTO tenants (tenant_id, name) VALUES ($1, $2) RETURNING \(TenantRecord.columns)",
            [.text(id), .text(name)]
        )
        return TenantRecord(rows[0])
    }

    package func tenant(
        _ id: TenantID,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> TenantRecord? {
        try await owner(
            by: deadline,
            "SELECT \(TenantRecord.columns) FROM tenants WHERE tenant_id = $1",
            [.text(id)]
        ).first.map(TenantRecord.init)
    }

    /// All tenants, by id.
    package func tenants(
        after: TenantID?,
        limit: Int,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> Page<TenantRecord> {
        let rows = try await owner(
            by: deadline,
            """
            SELECT \(TenantRecord.columns) FROM tenants WHERE $1::text IS NULL OR tenant_id > $1
            ORDER BY tenant_id LIMIT $2
            """,
            [.text(after?.text), .int(limit + 1)]
        ).map(TenantRecord.init)
        return Page(rows, limit: limit)
    }

    /// Changes what is not nil; nil if there is no such tenant.
    package func changeTenant(
        _ id: TenantID,
        name: String?,
        isPaused: Bool?,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> TenantRecord? {
        try await owner(
            by: deadline,
            """
            WITH woken AS (
                \(Self.resumeStarts) AND $3::boolean IS FALSE AND tenant_id = $1
            )
            UPDATE tenants SET name = coalesce($2, name), paused_at = CASE
                WHEN $3::boolean IS NULL THEN paused_at WHEN $3 THEN coalesce(paused_at, now()) END
            WHERE tenant_id = $1 RETURNING \(TenantRecord.columns)
            """,
            [.text(id), .text(name), .bool(isPaused)]
        ).first.map(TenantRecord.init)
    }
}

extension TenantRecord {
    fileprivate static let columns = "tenant_id, name, created_at, paused_at"

    fileprivate init(_ row: PGRow) {
        id = row.wrapped(0)
        name = row.text(1)
        createdAt = row.time(2)
        pausedAt = row.optionalTime(3)
    }
}
