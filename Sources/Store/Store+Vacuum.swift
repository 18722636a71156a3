internal import PostgreSQL

// Keeping tables small that are updated far more often than they have rows.
extension Store {
    /// What events, claims and registrations update over and over.
    private static let hotTables = ["targets", "matches", "stragglers", "channels"]

    /// Vacuums those of the hot tables whose dead rows have become many, as long as a table is small enough for that to be
    /// done in a moment; larger ones are left to autovacuum.
    ///
    /// Any number of processes may do it: a table that another one is at is skipped, and has no dead rows afterwards.
    ///
    /// - Parameters:
    ///   - dead: Dead rows that are many; more where there are many live ones.
    ///   - mostBytes: The size up to which a table is small.
    ///   - deadline: For all of it.
    /// - Returns: The tables that were vacuumed.
    /// - Throws: ``StoreError``.
    @discardableResult
    package func vacuumHotTables(
        dead: Int = 1000,
        mostBytes: Int = 128 << 20,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> [String] {
        let rows = try await query(
            """
            SELECT c.relname FROM unnest($1::text[]) AS h (name) JOIN pg_class c ON c.oid = to_regclass(h.name)
            WHERE pg_stat_get_dead_tuples(c.oid) >= greatest($2::bigint, pg_stat_get_live_tuples(c.oid) / 4)
              AND pg_relation_size(c.oid) <= $3
            """,
            [.textArray(Self.hotTables), .int(dead), .int(mostBytes)],
            by: deadline
        )
        let tables = rows.map { $0.text(0) }
        for table in tables {
            // Not truncated: that takes a lock that everybody waits for, and the pages are used again in a moment.
            _ = try await query("VACUUM (SKIP_LOCKED, TRUNCATE false, INDEX_CLEANUP on) \(table)", [], by: deadline)
        }
        return tables
    }
}
