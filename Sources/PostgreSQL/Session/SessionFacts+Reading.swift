package import EventLoop

extension SessionFacts {
    /// Connects, and looks at the session as it comes: nothing is changed in it, since a pooler may hand it on.
    ///
    /// - Parameters:
    ///   - conninfo: libpq's form.
    ///   - loop: Where the connections live: one, and two through a pooler.
    ///   - deadline: For all of it.
    /// - Returns: What was found.
    /// - Throws: ``PGError`` when there is no connection to look at.
    package static func look(
        at conninfo: String,
        on loop: EventLoop,
        by deadline: ContinuousClock.Instant
    ) async throws(PGError) -> SessionFacts {
        let connection = try await PGConnection.connect(conninfo, isBare: true, on: loop, by: deadline)
        do throws(PGError) {
            var facts = try await read(connection, by: deadline)
            let backend = try await backend(of: connection, by: deadline)
            // A pooler makes up a number of its own, for cancelling. Source: PostgreSQL, "Message Formats", BackendKeyData.
            if backend != Int64(await connection.backendProcessID) {
                facts.pooling = try await pooling(of: connection, conninfo, on: loop, by: deadline)
            }
            await connection.close()
            return facts
        } catch {
            await connection.close()
            throw error
        }
    }

    private static func backend(
        of connection: PGConnection,
        by deadline: ContinuousClock.Instant
    ) async throws(PGError) -> Int64 {
        try await connection.query("SELECT pg_backend_pid()", by: deadline)[0].int(0)
    }

    /// Two clients ask in turn who serves them. In session mode each keeps its backend, and it is nobody else's; else a
    /// free backend goes to whoever asks next, so that both soon have the same, or one of them another.
    private static func pooling(
        of first: PGConnection,
        _ conninfo: String,
        on loop: EventLoop,
        by deadline: ContinuousClock.Instant
    ) async throws(PGError) -> Pooling {
        // In session mode with all backends in use the second one waits for its first answer, or is not let in.
        let patience = min(deadline, .now + .seconds(5))
        guard let second = try? await PGConnection.connect(conninfo, isBare: true, on: loop, by: patience) else {
            return .unknown
        }
        var backends: (first: Set<Int64>, second: Set<Int64>) = ([], [])
        var isShared = false
        for _ in 0..<8 where !isShared {
            guard let theirs = try? await backend(of: second, by: patience) else {
                await second.close()
                return .unknown
            }
            backends.second.insert(theirs)
            backends.first.insert(try await backend(of: first, by: deadline))
            let hasChanged = max(backends.first.count, backends.second.count) > 1
            isShared = hasChanged || !backends.first.isDisjoint(with: backends.second)
        }
        await second.close()
        guard isShared else { return .session }
        do throws(PGError) {
            _ = try await first.query("BEGIN", by: deadline)
            _ = try await first.query("ROLLBACK", by: deadline)
            return .transaction
        } catch {
            return .statement
        }
    }

    private static func read(
        _ connection: PGConnection,
        by deadline: ContinuousClock.Instant
    ) async throws(PGError) -> SessionFacts {
        let row = try await connection.query(
            """
            SELECT current_user::text, current_database()::text, current_setting('server_version_num')::bigint,
                   current_setting('server_encoding'), current_setting('client_encoding'),
                   current_setting('synchronous_commit'), current_setting('fsync') = 'on',
                   current_setting('full_page_writes') = 'on', pg_is_in_recovery(),
                   current_setting('transaction_read_only') = 'on',
                   (SELECT quote_ident(n.nspname) FROM pg_namespace n WHERE n.nspname = coalesce(current_schema(), 'public')
                       AND has_schema_privilege(n.oid, 'USAGE')),
                   coalesce((SELECT has_schema_privilege(n.oid, 'CREATE') FROM pg_namespace n
                       WHERE n.nspname = coalesce(current_schema(), 'public')), false),
                   (SELECT nullif(rolconnlimit, -1) FROM pg_roles WHERE rolname = current_user AND NOT rolsuper)::bigint,
                   (SELECT nullif(datconnlimit, -1) FROM pg_database WHERE datname = current_database()
                       AND NOT (SELECT rolsuper FROM pg_roles WHERE rolname = current_user))::bigint,
                   current_setting('max_connections')::bigint - CASE
                       WHEN (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) THEN 0
                       ELSE current_setting('superuser_reserved_connections')::bigint
                           + coalesce(current_setting('reserved_connections', true)::bigint, 0) END,
                   (SELECT pg_get_userbyid(c.relowner)::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                    WHERE c.relname = 'touchline_migrations' AND n.nspname = coalesce(current_schema(), 'public')
                      AND NOT pg_has_role(current_user, c.relowner, 'USAGE'))
            """,
            by: deadline
        )[0]
        func limit(_ column: Int) -> Int? { row.optionalInt(column).map { Int($0) } }
        return SessionFacts(
            user: row.text(0),
            database: row.text(1),
            serverVersion: Int(row.int(2)),
            serverEncoding: row.text(3),
            clientEncoding: row.text(4),
            synchronousCommit: row.text(5),
            isFsyncOn: row.bool(6),
            writesFullPages: row.bool(7),
            isStandby: row.bool(8),
            isReadOnly: row.bool(9),
            pooling: .none,
            schema: row.optionalText(10),
            mayCreateTables: row.bool(11),
            foreignOwner: row.optionalText(15),
            roleConnections: limit(12),
            databaseConnections: limit(13),
            serverConnections: Int(row.int(14))
        )
    }
}
