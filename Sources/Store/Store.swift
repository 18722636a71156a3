package import PostgreSQL
internal import Schema

/// Every SQL statement of the service, each a named function in an extension of its own file.
package final class Store: Sendable {
    /// As the owner of the tables: the engine, and the look-up of keys. Row-level security does not hold here.
    package let database: PGPool
    /// As `touchline_api`, which sees the rows of one tenant at a time.
    package let api: PGPool
    /// As the owner too, for the look-up of keys alone: a flood of requests must not stand before the engine.
    let keys: PGPool
    package let masterKey: MasterKey
    let eventBatches = EventBatches()

    /// - Parameters:
    ///   - database: As the owner of the tables, with ``setup``.
    ///   - api: With ``apiSetup``.
    ///   - keys: As the owner; by default `database`.
    ///   - masterKey: What secrets in the database are encrypted with.
    package init(database: PGPool, api: PGPool, keys: PGPool? = nil, masterKey: MasterKey) {
        self.database = database
        self.api = api
        self.keys = keys ?? database
        self.masterKey = masterKey
    }

    /// Closes all connections.
    package func shutdown() async {
        for pool in [database, api, keys] { await pool.shutdown() }
    }

    /// What the pools run on each new connection.
    ///
    /// Every statement of ours finds its rows by an index. Right after a storm of registrations the planner knows nothing
    /// of the tables, and would read all rows of a match for a handful; compiling such a plan would take longer still. So
    /// what a statement is given does not change its plan, and it is made once a connection.
    ///
    /// And no statement, wait for a lock or open transaction lasts: whatever its client's fate, also if that is stopped in
    /// the middle of a transaction. A lock is given up before the caller is (who has five seconds mostly), so that the
    /// connection outlives it; a statement and a transaction after the most patient caller.
    package static let setup = [
        """
        SELECT set_config(name, value, false)
        FROM (VALUES ('enable_seqscan', 'off'), ('enable_hashjoin', 'off'), ('enable_mergejoin', 'off'), ('jit', 'off'),
                     ('plan_cache_mode', 'force_generic_plan'), ('lock_timeout', '4s'), ('statement_timeout', '15s'),
                     ('idle_in_transaction_session_timeout', '10s'), ('transaction_timeout', '20s'))
            AS wanted (name, value)
        WHERE name IN (SELECT name FROM pg_settings)
        """
    ]

    /// What an `api` pool runs on each new connection.
    package static let apiSetup = setup + ["SET ROLE touchline_api"]

    /// What to do about a migration that was refused; nil where its message says it all.
    ///
    /// - Parameters:
    ///   - error: The refusal.
    ///   - facts: What a session of this user is like, where that was looked at.
    /// - Returns: In words, with the statements to run.
    package static func migrationHint(for error: PGError, _ facts: SessionFacts?) -> String? {
        guard error.sqlState == "42501" else { return nil }
        if let facts, !facts.mayCreateTables { return facts.creationHint }
        let user = facts.map { SessionFacts.quoted($0.user) } ?? "<the user of DATABASE_URL>"
        return """
            As an administrator: ALTER ROLE \(user) CREATEROLE; \
            or, in its place: CREATE ROLE touchline_api NOLOGIN; GRANT touchline_api TO \(user);
            """
    }

    /// Brings the tables up to date.
    package static let migrator = Migrator(
        Schema.migrations.map { Migrator.Migration(name: $0.name, sql: String(decoding: $0.sql, as: UTF8.self)) }
    )
}
