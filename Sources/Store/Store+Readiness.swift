internal import PostgreSQL

extension Store {
    /// Whether PostgreSQL can do what the service needs: it answers, takes writes, and has room on its disk.
    ///
    /// A megabyte is written to a temporary file and forgotten, and a record is committed to the log: a server whose disk is
    /// full goes on answering queries, and events would be refused all the same.
    /// - Throws: ``StoreError``, mostly unavailable.
    package func checkReadiness(by deadline: ContinuousClock.Instant) async throws(StoreError) {
        let results = try await pipeline(
            [
                "SELECT pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on'",
                "SELECT set_config('work_mem', '64kB', true)",
                """
                SELECT count(*) FROM (
                    SELECT repeat(md5(n::text), 8) AS text FROM generate_series(1, 4000) AS n ORDER BY text) AS spilled
                """,
            ],
            by: deadline
        )
        guard results[0].first?.bool(0) == false else { throw .unavailable("the server takes no writes: a standby") }
        try await flush(by: deadline)
    }
}
