package import APNsProtocol
package import Core
internal import PostgreSQL

/// An activity type of an app, with its contract as it came.
package struct TypeRecord: Sendable {
    package let bundle: BundleID
    package let type: AttributesType
    package let contentState: RawJSON
    package let attributes: RawJSON?

    package init(bundle: BundleID, type: AttributesType, contentState: RawJSON, attributes: RawJSON?) {
        self.bundle = bundle
        self.type = type
        self.contentState = contentState
        self.attributes = attributes
    }
}

extension Store {
    /// Creates or replaces a type, if `mayReplace` agrees.
    ///
    /// `mayReplace` is asked with the type that stands there and whether live matches use it; a match that goes live
    /// meanwhile is not seen.
    /// - Returns: The type that stands in the way; nil: the new one was stored.
    package func putType(
        _ record: TypeRecord,
        tenant: TenantID,
        by deadline: ContinuousClock.Instant,
        mayReplace: @Sendable (_ old: TypeRecord, _ isInUse: Bool) -> Bool
    ) async throws(StoreError) -> TypeRecord? {
        let key: [PGValue] = [.text(tenant), .text(record.bundle), .text(record.type)]
        return try await tenantTransaction(tenant, by: deadline) { connection in
            let found = try await connection.query(
                """
                SELECT bundle, attributes_type, content_state, attributes, EXISTS (
                    SELECT FROM matches m WHERE m.tenant_id = $1 AND m.bundle = $2 AND m.attributes_type = $3
                      AND m.status = 'live' AND m.deleted_at IS NULL)
                FROM activity_types WHERE tenant_id = $1 AND bundle = $2 AND attributes_type = $3 FOR UPDATE
                """,
                key,
                by: deadline
            )
            if let row = found.first, !mayReplace(TypeRecord(row), row.bool(4)) { return TypeRecord(row) }
            _ = try await connection.query(
                """
                INSERT INTO activity_types (tenant_id, bundle, attributes_type, content_state, attributes)
                VALUES ($1, $2, $3, $4, $5)
                ON CONFLICT (tenant_id, bundle, attributes_type) DO UPDATE SET
                    content_state = excluded.content_state, attributes = excluded.attributes, updated_at = now()
                """,
                key + [.json(record.contentState), .json(record.attributes)],
                by: deadline
            )
            return nil
        }
    }

    package func activityType(
        _ type: AttributesType,
        of bundle: BundleID,
        tenant: TenantID,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> TypeRecord? {
        try await self.tenant(
            tenant,
            by: deadline,
            """
            SELECT bundle, attributes_type, content_state, attributes FROM activity_types
            WHERE tenant_id = $1 AND bundle = $2 AND attributes_type = $3
            """,
            [.text(tenant), .text(bundle), .text(type)]
        ).first.map(TypeRecord.init)
    }

    /// The types of an app, by name.
    package func activityTypes(
        of bundle: BundleID,
        tenant: TenantID,
        after: String?,
        limit: Int,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> Page<TypeRecord> {
        let rows = try await self.tenant(
            tenant,
            by: deadline,
            """
            SELECT bundle, attributes_type, content_state, attributes FROM activity_types
            WHERE tenant_id = $1 AND bundle = $2 AND ($3::text IS NULL OR attributes_type > $3)
            ORDER BY attributes_type LIMIT $4
            """,
            [.text(tenant), .text(bundle), .text(after), .int(limit + 1)]
        ).map(TypeRecord.init)
        return Page(rows, limit: limit)
    }
}

extension TypeRecord {
    fileprivate init(_ row: PGRow) {
        bundle = row.wrapped(0)
        type = row.wrapped(1)
        contentState = row.json(2)
        attributes = row.optionalJSON(3)
    }
}
