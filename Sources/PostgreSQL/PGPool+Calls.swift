extension PGPool {
    /// Runs `body` with a connection to itself.
    package func withConnection<Value>(
        by deadline: ContinuousClock.Instant,
        _ body: (PGConnection) async throws(PGError) -> Value
    ) async throws(PGError) -> Value {
        let connection = try await lease(by: deadline)
        do throws(PGError) {
            let value = try await body(connection)
            await release(connection)
            return value
        } catch {
            note(error)
            await release(connection)
            throw error
        }
    }

    private func note(_ error: any Error) {
        guard let observe = configuration.observe, let error = error as? PGError else { return }
        if error.kind == .unavailable || error.isOfServer { observe(.callFailed(error)) }
    }

    /// One statement on any connection.
    package func query(
        _ sql: String,
        _ parameters: [PGValue] = [],
        by deadline: ContinuousClock.Instant
    ) async throws(PGError) -> PGResult {
        try await withConnection(by: deadline) { connection throws(PGError) in
            try await connection.query(sql, parameters, by: deadline)
        }
    }

    /// Statements in one round trip and one transaction; see ``PGConnection/pipeline(_:by:)``.
    package func pipeline(
        _ statements: [PGStatement],
        by deadline: ContinuousClock.Instant
    ) async throws(PGError) -> [PGResult] {
        try await withConnection(by: deadline) { connection throws(PGError) in
            try await connection.pipeline(statements, by: deadline)
        }
    }

    /// Runs `body` between `BEGIN` and `COMMIT`; whatever it throws rolls back.
    ///
    /// - Parameters:
    ///   - deadline: For all of it, the wait for a connection included.
    ///   - opening: Statements that go out together with `BEGIN`, in one round trip.
    ///   - body: The rest.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws, else ``PGError``.
    package func transaction<Value>(
        by deadline: ContinuousClock.Instant,
        opening: [PGStatement] = [],
        _ body: (PGConnection) async throws -> Value
    ) async throws -> Value {
        let connection = try await lease(by: deadline)
        do {
            _ = try await connection.pipeline(["BEGIN"] + opening, by: deadline)
            let value = try await body(connection)
            // PostgreSQL would answer COMMIT by a rollback, and call that a success.
            guard connection.health.state != .inFailedTransaction else {
                throw PGError(.statement, "the transaction has failed", sqlState: "25P02")
            }
            _ = try await connection.query("COMMIT", by: deadline)
            await release(connection)
            return value
        } catch {
            note(error)
            if [.inTransaction, .inFailedTransaction].contains(connection.health.state) {
                // Where it fails too, the connection has closed itself.
                _ = try? await connection.query("ROLLBACK", by: max(deadline, .now + .seconds(1)))
            }
            await release(connection)
            throw error
        }
    }
}
