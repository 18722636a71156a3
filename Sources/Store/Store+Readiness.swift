package import PostgreSQL

extension Store {
    /// Whether PostgreSQL can do what the service needs: it answers, takes writes, and has room on its disk.
    ///
    /// A megabyte is written to a temporary file and forgotten, and a record is committed to the log: a server whose disk is
    /// full goes on answering queries, and events would be refused all the same.
    /// - Throws: ``StoreError``, mostly unavailable.
    package func checkReadiness(by deadline: ContinuousClock.Instant) async throws(StoreError) {
        let results = try await pipeline(
            ["SELECT pg_is_in_recovery(), current_setting('transaction_read_only') = 'on'"] + Self.spilling,
            by: deadline
        )
        if results[0][0].bool(0) { throw .unavailable("the server takes no writes: a standby") }
        if results[0][0].bool(1) { throw .unavailable("nothing can be written: default_transaction_read_only is on") }
        try await flush(by: deadline)
    }
    /// The same on a connection by itself, for the doctor; also that a table can grow. Leaves nothing behind.
    ///
    /// - Throws: ``PGError``, by whose SQLSTATE ``writeTrouble(_:)`` knows what is wrong.
    package static func checkWriting(
        on connection: PGConnection,
        by deadline: ContinuousClock.Instant
    ) async throws(PGError) {
        _ = try await connection.pipeline(Self.spilling, by: deadline)
        // Some pages of rows that nobody sees.
        let rows = """
            INSERT INTO touchline_migrations (name)
            SELECT 'doctor ' || pg_backend_pid() || ' ' || n FROM generate_series(1, 500) n
            """
        _ = try await connection.pipeline(["BEGIN", PGStatement(rows), "ROLLBACK"], by: deadline)
        _ = try await connection.query("SELECT pg_logical_emit_message(true, 'touchline', '')", by: deadline)
    }

    /// What a failed write says about the server: in words, and what to do.
    package static func writeTrouble(_ error: PGError) -> (detail: String, hint: String) {
        switch error.sqlState {
        case "25006":
            ("it takes no writes: \(error)", "Name the primary in DATABASE_URL, or end the server's read-only mode.")
        case "53100":
            ("its disk is full: \(error)", "Make room where PostgreSQL keeps its files: until then events get 503.")
        case "53400":
            ("it gives too little room: \(error)", "Set temp_file_limit higher, or to -1, for this role and database.")
        case "42501":
            ("this user may not write to it: \(error)", "Name the tables' owner in DATABASE_URL.")
        default:
            ("cannot be written to: \(error)", "Check DATABASE_URL, and PostgreSQL's own log.")
        }
    }

    /// A megabyte to a temporary file.
    private static let spilling: [PGStatement] = [
        "SELECT set_config('work_mem', '64kB', true)",
        """
        SELECT count(*) FROM (
            SELECT repeat(md5(n::text), 8) AS text FROM generate_series(1, 4000) AS n ORDER BY text) AS spilled
        """,
    ]
}
