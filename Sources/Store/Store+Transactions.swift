package import Core
package import PostgreSQL

extension Store {
    /// Runs statements on one tenant's rows: one round trip, one transaction, under row-level security.
    ///
    /// All statements of the API go through this, or through ``tenantTransaction(_:by:_:)`` where one depends on another.
    /// Deadlocks and failed serializations are run again, while there is time.
    ///
    /// - Returns: A result for each of `statements`.
    package func tenant(
        _ tenant: TenantID,
        by deadline: ContinuousClock.Instant,
        _ statements: [PGStatement]
    ) async throws(StoreError) -> [PGResult] {
        try await retrying(by: deadline) { () async throws(PGError) in
            Array(try await api.pipeline([scope(tenant)] + statements, by: deadline).dropFirst())
        }
    }

    /// One statement on one tenant's rows; see ``tenant(_:by:_:)``.
    package func tenant(
        _ tenant: TenantID,
        by deadline: ContinuousClock.Instant,
        _ sql: String,
        _ parameters: [PGValue]
    ) async throws(StoreError) -> PGResult {
        try await self.tenant(tenant, by: deadline, [PGStatement(sql, parameters)])[0]
    }

    /// Runs `body` in a transaction on one tenant's rows, under row-level security. Whatever it throws rolls back.
    ///
    /// `body` may run more than once, after a deadlock.
    package func tenantTransaction<Value>(
        _ tenant: TenantID,
        by deadline: ContinuousClock.Instant,
        _ body: (PGConnection) async throws -> Value
    ) async throws(StoreError) -> Value {
        try await retryingTransaction(of: api, by: deadline, opening: [scope(tenant)], body)
    }

    /// Makes the rows of one tenant the only ones, until the transaction ends.
    func scope(_ tenant: TenantID) -> PGStatement {
        PGStatement("SELECT set_config('touchline.tenant', $1, true)", [.text(tenant.text)])
    }

    /// Runs statements as the owner of the tables, in one round trip and one transaction.
    ///
    /// - Returns: A result for each of `statements`.
    package func owner(
        by deadline: ContinuousClock.Instant,
        _ statements: [PGStatement]
    ) async throws(StoreError) -> [PGResult] {
        try await retrying(by: deadline) { () async throws(PGError) in
            try await database.pipeline(statements, by: deadline)
        }
    }

    /// One statement as the owner of the tables.
    package func owner(
        by deadline: ContinuousClock.Instant,
        _ sql: String,
        _ parameters: [PGValue] = []
    ) async throws(StoreError) -> PGResult {
        try await owner(by: deadline, [PGStatement(sql, parameters)])[0]
    }

    /// Runs `body` in a transaction as the owner of the tables; see ``tenantTransaction(_:by:_:)``.
    package func ownerTransaction<Value>(
        by deadline: ContinuousClock.Instant,
        _ body: (PGConnection) async throws -> Value
    ) async throws(StoreError) -> Value {
        try await retryingTransaction(of: database, by: deadline, body)
    }

    /// A transaction that lost against another one may be run again; so often, then somebody else's turn is over too.
    private static let mostAttempts = 5

    func retrying<Value>(
        by deadline: ContinuousClock.Instant,
        _ body: () async throws(PGError) -> Value
    ) async throws(StoreError) -> Value {
        for attempt in 1... {
            do throws(PGError) {
                return try await body()
            } catch {
                guard error.isRetryable, attempt < Self.mostAttempts, .now < deadline else { throw StoreError(error) }
            }
        }
        preconditionFailure("an endless range ended")
    }

    private func retryingTransaction<Value>(
        of pool: PGPool,
        by deadline: ContinuousClock.Instant,
        opening: [PGStatement] = [],
        _ body: (PGConnection) async throws -> Value
    ) async throws(StoreError) -> Value {
        for attempt in 1... {
            do {
                return try await pool.transaction(by: deadline, opening: opening, body)
            } catch let error as StoreError {
                throw error
            } catch let error as PGError {
                guard error.isRetryable, attempt < Self.mostAttempts, .now < deadline else { throw StoreError(error) }
            } catch {
                throw .failed(PGError(.statement, "a transaction's body threw \(type(of: error))"))
            }
        }
        preconditionFailure("an endless range ended")
    }
}
