/// What a session is like before anything of it was changed; ``findings`` judges it.
package struct SessionFacts: Equatable, Sendable {
    /// What stands between a client and the server, and for how long it keeps a backend for one client.
    package enum Pooling: Equatable, Sendable {
        case none
        /// For the whole connection, which is as good as none.
        case session
        /// For a transaction: what a client sets in its session is another one's afterwards.
        case transaction
        /// For a statement: there are no transactions at all.
        case statement
        /// A pooler, which gave no second backend in time.
        case unknown
    }

    package var user: String
    package var database: String
    /// Such as 150020.
    package var serverVersion: Int
    package var serverEncoding: String
    package var clientEncoding: String
    /// The role's or the database's, or the server's.
    package var synchronousCommit: String
    package var isFsyncOn: Bool
    package var writesFullPages: Bool
    package var isStandby: Bool
    /// Transactions are read-only, by a setting or on a standby.
    package var isReadOnly: Bool
    package var pooling: Pooling
    /// The schema that tables are made in; nil where there is none that the user may use.
    package var schema: String?
    package var mayCreateTables: Bool
    /// Whose Touchline's tables are, where they are there and neither this user's nor those of a role that it has.
    package var foreignOwner: String?
    /// How many connections the role, the database and the server allow this user; nil where nothing limits them.
    package var roleConnections: Int?
    package var databaseConnections: Int?
    package var serverConnections: Int

    /// The fewest of them.
    package var connections: Int { min(roleConnections ?? .max, databaseConnections ?? .max, serverConnections) }
}

/// Something about a session that keeps Touchline from working, or from keeping its promises.
package struct SessionFinding: Equatable, Sendable {
    package enum Kind: Equatable, Sendable, CaseIterable {
        case oldServer, encoding, clientEncoding, pooler, unknownPooler, standby, readOnly, noSchema, foreignTables,
            fewConnections
        case fsync, fullPageWrites, synchronousCommit
    }

    package let kind: Kind
    /// Nothing works, or not rightly: not to be served on. Else a warning.
    package let isRefused: Bool
    /// What is so, without a full stop.
    package let detail: String
    /// What to do.
    package let hint: String

    /// It may pass by itself: another server is promoted.
    package var mayPass: Bool { kind == .standby }

    static func encodingDetail(_ encoding: String) -> String {
        "the database's encoding is \(encoding); only UTF8 holds every name and every text"
    }
}
