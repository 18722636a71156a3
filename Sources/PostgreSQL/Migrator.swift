/// Brings a database's tables up to date: each migration once, in order, by one process at a time.
package struct Migrator: Sendable {
    /// One step of the schema.
    package struct Migration: Sendable {
        package let name: String
        package let sql: String

        package init(name: String, sql: String) {
            self.name = name
            self.sql = sql
        }
    }

    /// The advisory lock that migrating processes take in turn: "touch" in ASCII.
    private static let lock: Int64 = 0x74_6F_75_63_68

    private let migrations: [Migration]

    /// - Parameter migrations: All of them, oldest first; a later program has more at the end.
    package init(_ migrations: [Migration]) { self.migrations = migrations }

    /// Applies what is missing, each migration in a transaction of its own.
    ///
    /// - Returns: The names of those that were applied now.
    /// - Throws: ``PGError``; of kind configuration when the database has a migration that this program does not know.
    package func run(
        on connection: PGConnection,
        by deadline: ContinuousClock.Instant
    ) async throws(PGError) -> [String] {
        _ = try await connection.query("SELECT pg_advisory_lock($1)", [.int(Self.lock)], by: deadline)
        do throws(PGError) {
            let applied = try await applyMissing(on: connection, by: deadline)
            try await unlock(connection, by: deadline)
            return applied
        } catch {
            try? await unlock(connection, by: deadline)
            throw error
        }
    }

    /// The names of those that have not been applied, without applying them.
    package func missing(
        on connection: PGConnection,
        by deadline: ContinuousClock.Instant
    ) async throws(PGError) -> [String] {
        let exists = try await connection.query("SELECT to_regclass('touchline_migrations') IS NOT NULL", by: deadline)
        guard exists[0].bool(0) else { return migrations.map(\.name) }
        let known = try await appliedNames(on: connection, by: deadline)
        return migrations.map(\.name).filter { !known.contains($0) }
    }

    private func applyMissing(
        on connection: PGConnection,
        by deadline: ContinuousClock.Instant
    ) async throws(PGError) -> [String] {
        _ = try await connection.query(
            """
            CREATE TABLE IF NOT EXISTS touchline_migrations (
                name text PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())
            """,
            by: deadline
        )
        let known = try await appliedNames(on: connection, by: deadline)
        if let stranger = known.subtracting(migrations.map(\.name)).min() {
            throw PGError(.configuration, "the database is newer than this program: it has migration \(stranger)")
        }
        var applied: [String] = []
        for migration in migrations where !known.contains(migration.name) {
            try await apply(migration, on: connection, by: deadline)
            applied.append(migration.name)
        }
        return applied
    }

    private func appliedNames(
        on connection: PGConnection,
        by deadline: ContinuousClock.Instant
    ) async throws(PGError) -> Set<String> {
        Set(try await connection.query("SELECT name FROM touchline_migrations", by: deadline).map { $0.text(0) })
    }

    private func apply(
        _ migration: Migration,
        on connection: PGConnection,
        by deadline: ContinuousClock.Instant
    ) async throws(PGError) {
        _ = try await connection.query("BEGIN", by: deadline)
        do throws(PGError) {
            try await connection.execute(script: migration.sql, by: deadline)
            let record = "INSERT INTO touchline_migrations (name) VALUES ($1)"
            _ = try await connection.query(record, [.text(migration.name)], by: deadline)
            _ = try await connection.query("COMMIT", by: deadline)
        } catch {
            _ = try? await connection.query("ROLLBACK", by: deadline)
            throw PGError(
                error.kind,
                "migration \(migration.name): \(error.message)",
                sqlState: error.sqlState,
                constraint: error.constraint
            )
        }
    }

    private func unlock(_ connection: PGConnection, by deadline: ContinuousClock.Instant) async throws(PGError) {
        _ = try await connection.query("SELECT pg_advisory_unlock($1)", [.int(Self.lock)], by: deadline)
    }
}
