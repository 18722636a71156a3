package import Core
internal import Crypto
package import PostgreSQL

/// Who sent a request: what its key is, and whose.
package struct Caller: Equatable, Sendable {
    package let key: APIKeyID
    package let role: Role
    /// Nil for an operator, who names the tenant on each request.
    package let tenant: TenantID?

    package init(key: APIKeyID, role: Role, tenant: TenantID?) {
        self.key = key
        self.role = role
        self.tenant = tenant
    }
}

/// A key as lists show it.
package struct KeyRow: Equatable, Sendable {
    package let id: APIKeyID
    package let role: Role
    package let createdAt: Timestamp
    package let expiresAt: Timestamp?
    package let revokedAt: Timestamp?
}

extension Store {
    /// Whose key this is; nil when there is none, or it has expired or was revoked.
    ///
    /// Asked on every request, so that a revoked key ends at once. One round trip.
    package func caller(of secret: KeySecret, by deadline: ContinuousClock.Instant) async throws(StoreError) -> Caller?
    {
        let sql = """
            SELECT secret_sha256, 'operator', NULL FROM operator_keys
            WHERE key_id = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())
            UNION ALL
            SELECT secret_sha256, role, tenant_id FROM api_keys
            WHERE key_id = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())
            """
        let rows = try await retrying(by: deadline) { () async throws(PGError) in
            try await keys.query(sql, [.text(secret.id.text)], by: deadline)
        }
        guard let row = rows.first, ConstantTime.equal(row.bytes(0), secret.digest) else { return nil }
        // The row decides what the key may do; a text that says otherwise was tampered with.
        guard let role = Role(rawValue: row.text(1)), role == secret.role else { return nil }
        return Caller(key: secret.id, role: role, tenant: row.optionalText(2).flatMap(TenantID.init(validating:)))
    }

    /// Makes a key of a tenant.
    ///
    /// - Returns: The secret, which is not kept; nil when there is no such tenant.
    package func createKey(
        _ role: Role,
        of tenant: TenantID,
        expiresAt: Timestamp?,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> KeySecret? {
        precondition(role != .operator, "an operator's key belongs to no tenant")
        let secret = KeySecret(role: role)
        let result = try await self.tenant(
            tenant,
            by: deadline,
            """
            INSERT INTO api_keys (tenant_id, key_id, role, secret_sha256, expires_at)
            SELECT tenant_id, $2, $3, $4, $5::timestamptz FROM tenants WHERE tenant_id = $1
            """,
            [
                .text(tenant.text), .text(secret.id.text), .text(role.rawValue), .bytes(secret.digest),
                .timestamp(expiresAt.map { PGTimestamp(unixMicroseconds: $0.microseconds) }),
            ]
        )
        return result.affectedRows == 1 ? secret : nil
    }

    /// A tenant's keys by ID, revoked ones included, from the one behind `after`.
    package func keys(
        of tenant: TenantID,
        after: String?,
        limit: Int,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> [KeyRow] {
        let rows = try await self.tenant(
            tenant,
            by: deadline,
            """
            SELECT key_id, role, created_at, expires_at, revoked_at FROM api_keys
            WHERE tenant_id = $1 AND key_id > $2 ORDER BY key_id LIMIT $3::bigint
            """,
            [.text(tenant.text), .text(after ?? ""), .int(limit)]
        )
        return rows.map(KeyRow.init)
    }

    /// Ends a key at once. Once more is harmless.
    ///
    /// - Returns: Whether the tenant has such a key.
    package func revokeKey(
        _ key: APIKeyID,
        of tenant: TenantID,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> Bool {
        try await self.tenant(
            tenant,
            by: deadline,
            "UPDATE api_keys SET revoked_at = coalesce(revoked_at, now()) WHERE tenant_id = $1 AND key_id = $2",
            [.text(tenant.text), .text(key.text)]
        ).affectedRows == 1
    }

    /// Makes an operator's key. The secret is not kept.
    package func createOperatorKey(by deadline: ContinuousClock.Instant) async throws(StoreError) -> KeySecret {
        do {
            return try await database.withConnection(by: deadline) { connection throws(PGError) in
                try await Self.createOperatorKey(on: connection, by: deadline)
            }
        } catch {
            throw StoreError(error)
        }
    }

    /// The same where there is no store yet: for `touchline key bootstrap`.
    package static func createOperatorKey(
        on connection: PGConnection,
        by deadline: ContinuousClock.Instant
    ) async throws(PGError) -> KeySecret {
        let secret = KeySecret(role: .operator)
        _ = try await connection.query(
            "INSERT INTO operator_keys (key_id, secret_sha256) VALUES ($1, $2)",
            [.text(secret.id.text), .bytes(secret.digest)],
            by: deadline
        )
        return secret
    }
}

extension KeyRow {
    fileprivate init(_ row: PGRow) {
        guard let id = APIKeyID(validating: row.text(0)), let role = Role(rawValue: row.text(1)) else {
            preconditionFailure("a key that Touchline did not make: \(row.text(0))")
        }
        func timestamp(_ time: PGTimestamp) -> Timestamp { Timestamp(microseconds: time.unixMicroseconds) }
        self.id = id
        self.role = role
        createdAt = timestamp(row.timestamp(2))
        expiresAt = row.optionalTimestamp(3).map(timestamp)
        revokedAt = row.optionalTimestamp(4).map(timestamp)
    }
}
