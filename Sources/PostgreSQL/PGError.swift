/// Why a call to PostgreSQL did not succeed.
///
/// Never carries a parameter, a row or a password: the server's `DETAIL` and `CONTEXT` are left out, and so is the value
/// that class 22 (data exception) quotes in its primary message.
package struct PGError: Error, Equatable, Sendable, CustomStringConvertible {
    /// What the caller can do about it.
    package enum Kind: Equatable, Sendable {
        /// The server answered with an error; `sqlState` says which. The connection stays usable.
        case statement
        /// No connection, or it was lost: whether a write in flight was committed is unknown.
        case unavailable
        /// The deadline passed: the connection was closed, and whether a write was committed is unknown.
        case deadline
        /// Every connection of the pool stayed in use until the deadline, or too many callers wait: nothing was sent.
        case busy
        /// The connection string, the cluster's folder or its binaries are wrong: a person has to change something.
        case configuration
    }

    package let kind: Kind
    /// Five characters, such as `23505`; nil when the error is not the server's.
    package let sqlState: String?
    /// In words, without secrets.
    package let message: String
    /// The violated constraint's name, for class 23.
    package let constraint: String?
    /// Which statement of a pipeline failed, from 0.
    package let statementIndex: Int?

    package init(
        _ kind: Kind,
        _ message: String,
        sqlState: String? = nil,
        constraint: String? = nil,
        statementIndex: Int? = nil
    ) {
        self.kind = kind
        self.message = message
        self.sqlState = sqlState
        self.constraint = constraint
        self.statementIndex = statementIndex
    }

    /// Nothing wrong with the call: PostgreSQL is away, or overloaded. Answered as 503.
    package var isUnavailable: Bool { kind != .statement && kind != .configuration }

    /// A deadlock, a failed serialization, or a plan that a migration has made stale and that the connection has
    /// forgotten since: the whole transaction may be run again at once.
    package var isRetryable: Bool { sqlState == "40P01" || sqlState == "40001" || isStalePlan }

    /// "Cached plan must not change result type", or the prepared statement is gone.
    var isStalePlan: Bool { sqlState == "26000" || sqlState == "0A000" && message.contains("cached plan") }

    /// The server gave a statement up: it ran too long, or waited too long for a lock. What it was in was rolled back.
    package var isTimeout: Bool { sqlState == "57014" || sqlState == "55P03" }

    /// The server has a fault that no other call will find gone: class 58 (a system call failed) and XX (its own).
    package var isOfServer: Bool { ["58", "XX"].contains { sqlState?.hasPrefix($0) ?? false } }

    /// Nothing can be written: no room on the disk, a system call that failed, or a server that takes no writes.
    package var isAboutWriting: Bool { isOfServer || ["53100", "25006"].contains(sqlState) }

    package var isUniqueViolation: Bool { sqlState == "23505" }

    package var isForeignKeyViolation: Bool { sqlState == "23503" }

    package var isCheckViolation: Bool { sqlState == "23514" }

    package var description: String {
        guard let sqlState else { return message }
        return "\(message) (SQLSTATE \(sqlState))"
    }
}

extension PGError {
    /// An error that the server reported.
    ///
    /// Class 57P (shutdown, crash, starting up), 53 (out of connections, disk or memory) and 08 count as unavailable, and
    /// so does 25006: the server takes no writes, as a standby, and another one does.
    static func reported(
        sqlState: String,
        message: String,
        constraint: String?,
        statementIndex: Int?
    ) -> PGError {
        let isAway = ["57P", "53", "08", "25006"].contains { sqlState.hasPrefix($0) }
        return PGError(
            isAway ? .unavailable : .statement,
            sqlState.hasPrefix("22") ? withoutQuotedValue(message) : message,
            sqlState: sqlState,
            constraint: constraint,
            statementIndex: statementIndex
        )
    }

    /// Why a connection could not be made: `… failed: FATAL:  53300: too many connections for role "x"`, or libpq's own words.
    static func refused(_ line: String) -> PGError {
        // Two blanks stand before it; the severity's word may be of any language.
        guard let found = line.firstMatch(of: #/: {2}([0-9A-Z]{5}): /#) else { return PGError(.unavailable, line) }
        let message = line[..<found.range.lowerBound] + ": " + line[found.range.upperBound...]
        return PGError(.unavailable, String(message), sqlState: String(found.1))
    }

    /// The server, or a pooler before it, has no room for another connection of ours: those that are there go on.
    var isTooManyConnections: Bool {
        // PgBouncer has one SQLSTATE for everything.
        sqlState == "53300" || sqlState == "08P01" && message.contains("no more connections allowed")
    }

    /// The server is there, and does not want us: a wrong password, no such database.
    package var isRefusal: Bool {
        guard let sqlState, kind == .unavailable else { return false }
        // Starting up or shutting down, out of something, or a pooler without a server: that passes.
        return !["57P", "53", "08"].contains { sqlState.hasPrefix($0) }
    }

    static var closed: PGError { PGError(.unavailable, "the connection to PostgreSQL is closed") }

    static var deadlinePassed: PGError { PGError(.deadline, "PostgreSQL did not answer before the deadline") }

    /// `invalid input syntax for type bigint: "abc"` without what follows the colon.
    private static func withoutQuotedValue(_ message: String) -> String {
        guard let quote = message.firstIndex(of: "\"") else { return message }
        let head = message[..<quote]
        let end = head.lastIndex { $0 != " " && $0 != ":" }
        return end.map { String(head[...$0]) } ?? "a value is not valid"
    }
}
