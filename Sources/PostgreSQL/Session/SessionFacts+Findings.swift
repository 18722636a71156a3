extension SessionFacts {
    /// The fewest connections that the service's parts can share.
    package static let minConnections = 4

    /// What is wrong, the worst first.
    ///
    /// - Parameter wanted: Connections that the service would use: as many as its default, and one to listen.
    /// - Returns: What keeps it from being used, then the warnings.
    package func findings(wanting wanted: Int = 12) -> [SessionFinding] { refusals + warnings(wanted) }

    private var refusals: [SessionFinding] {
        var found: [SessionFinding] = []
        func refuse(_ kind: SessionFinding.Kind, _ detail: String, _ hint: String) {
            found.append(SessionFinding(kind: kind, isRefused: true, detail: detail, hint: hint))
        }
        if serverVersion < 140_000 {
            refuse(
                .oldServer,
                "the server is PostgreSQL \(serverVersion / 10_000)",
                "Touchline needs PostgreSQL 14 or later."
            )
        }
        if serverEncoding != "UTF8" {
            refuse(
                .encoding,
                SessionFinding.encodingDetail(serverEncoding),
                "Make another one, and name it in DATABASE_URL: CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0;"
            )
        } else if clientEncoding != "UTF8" {
            refuse(
                .clientEncoding,
                "client_encoding is \(clientEncoding), though UTF8 was asked for: a pooler takes it out",
                "Take client_encoding out of the pooler's ignore_startup_parameters."
            )
        }
        if pooling == .transaction || pooling == .statement {
            let mode = pooling == .transaction ? "transaction" : "statement"
            refuse(
                .pooler,
                "a connection pooler in \(mode) mode is between here and PostgreSQL: what one client sets, another one gets",
                "Give DATABASE_URL PostgreSQL's own address, or set pool_mode = session for this database in the pooler."
            )
        }
        if isStandby {
            refuse(
                .standby,
                "the server is a standby, and takes no writes",
                "Name the primary in DATABASE_URL, or all of them: host=db1,db2."
            )
        } else if isReadOnly {
            refuse(
                .readOnly,
                "default_transaction_read_only is on: nothing can be written",
                """
                ALTER ROLE \(Self.quoted(user)) RESET default_transaction_read_only; \
                ALTER DATABASE \(Self.quoted(database)) RESET default_transaction_read_only;
                """
            )
        }
        if schema == nil {
            refuse(
                .noSchema,
                "there is no schema that \(user) may use: neither one in search_path nor public",
                "GRANT USAGE, CREATE ON SCHEMA public TO \(Self.quoted(user));"
            )
        }
        if let foreignOwner {
            refuse(
                .foreignTables,
                "Touchline's tables in this database belong to \(foreignOwner), and \(user) is another role",
                """
                Name \(foreignOwner) in DATABASE_URL, or, as an administrator, in this database: \
                REASSIGN OWNED BY \(Self.quoted(foreignOwner)) TO \(Self.quoted(user));
                """
            )
        }
        if connections < Self.minConnections {
            refuse(
                .fewConnections,
                "\(limitText); \(Self.minConnections) are the fewest that Touchline works with",
                limitHint
            )
        }
        return found
    }

    private func warnings(_ wanted: Int) -> [SessionFinding] {
        var found: [SessionFinding] = []
        func warn(_ kind: SessionFinding.Kind, _ detail: String, _ hint: String) {
            found.append(SessionFinding(kind: kind, isRefused: false, detail: detail, hint: hint))
        }
        if pooling == .unknown {
            warn(
                .unknownPooler,
                "a connection pooler is between here and PostgreSQL, and had no second connection to tell its mode by",
                "Make sure that its pool_mode is session, and that its pool has room for --database-connections and one more."
            )
        }
        if connections >= Self.minConnections, case let usable = connections(ofWanted: wanted), usable < wanted {
            warn(
                .fewConnections,
                "\(limitText); Touchline would use \(wanted), and makes do with \(usable): calls wait for each other",
                limitHint
            )
        }
        if !isFsyncOn {
            warn(
                .fsync,
                "fsync is off: a power cut or a crash of the machine can destroy the database, and accepted events with it",
                "Set fsync = on in postgresql.conf."
            )
        }
        if !writesFullPages {
            warn(
                .fullPageWrites,
                "full_page_writes is off: a power cut can leave torn pages behind",
                "Set full_page_writes = on in postgresql.conf, unless the file system writes whole pages."
            )
        }
        if synchronousCommit == "off" {
            warn(
                .synchronousCommit,
                "synchronous_commit is off; Touchline's own connections set it on for what must survive a crash",
                "Nothing has to be done. ALTER ROLE \(Self.quoted(user)) SET synchronous_commit = on; ends this remark."
            )
        }
        return found
    }

    /// Which of the limits it is.
    private var limitText: String {
        if connections == roleConnections { return "the role \(user) may have \(connections) connections" }
        if connections == databaseConnections { return "the database \(database) may have \(connections) connections" }
        return "the server gives ordinary users \(connections) connections"
    }

    private var limitHint: String {
        if connections == roleConnections { return "ALTER ROLE \(Self.quoted(user)) CONNECTION LIMIT 20;" }
        if connections == databaseConnections { return "ALTER DATABASE \(Self.quoted(database)) CONNECTION LIMIT 20;" }
        return "Set max_connections higher in postgresql.conf."
    }

    /// How many connections to use of `wanted`, of which one listens: one stays free for the doctor where that is possible.
    package func connections(ofWanted wanted: Int) -> Int {
        min(wanted, max(Self.minConnections, connections - 1))
    }

    /// What an administrator grants where tables cannot be made.
    package var creationHint: String {
        let user = Self.quoted(user)
        return """
            As an administrator: ALTER DATABASE \(Self.quoted(database)) OWNER TO \(user); \
            or, in this database: GRANT USAGE, CREATE ON SCHEMA \(schema ?? "public") TO \(user);
            """
    }

    /// As an identifier in SQL.
    package static func quoted(_ name: String) -> String {
        let isPlain = name.wholeMatch(of: /[a-z_][a-z0-9_]*/) != nil
        return isPlain ? name : "\"\(name.replacing("\"", with: "\"\""))\""
    }
}
