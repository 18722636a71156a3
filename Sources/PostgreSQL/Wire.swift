internal import CLibPQ

/// Owns one `PGconn`, non-blocking. Not thread-safe: it lives inside one connection actor, and its pointer never leaves.
final class Wire {
    private let connection: OpaquePointer  // PGconn *

    /// Begins to connect. Names must have been resolved before: libpq would block in `getaddrinfo`.
    init(startingWith options: ConnectionOptions) throws(PGError) {
        guard let connection = options.withPointers({ PQconnectStartParams($0, $1, 0) }) else {
            throw PGError(.unavailable, "out of memory")
        }
        self.connection = connection
        // A refusal's SQLSTATE stands in the text of this form, and nowhere else while connecting. Its words are the server's
        // language.
        PQsetErrorVerbosity(connection, PQERRORS_VERBOSE)
        // Notices ("relation exists, skipping") would go to standard error.
        PQsetNoticeProcessor(connection, { _, _ in }, nil)
    }

    deinit { PQfinish(connection) }

    var descriptor: Int32 { PQsocket(connection) }
    var isBad: Bool { PQstatus(connection) == CONNECTION_BAD }
    var isBusy: Bool { PQisBusy(connection) != 0 }
    /// What the last call left behind.
    var transactionState: ConnectionHealth.State {
        switch PQtransactionStatus(connection) {
        case PQTRANS_IDLE: .idle
        case PQTRANS_INTRANS: .inTransaction
        case PQTRANS_INERROR: .inFailedTransaction
        default: .inUse
        }
    }
    var serverVersion: Int { Int(PQserverVersion(connection)) }

    /// Who serves this connection, as it says itself: a pooler says something else than PostgreSQL behind it.
    var backendProcessID: Int32 { PQbackendPID(connection) }

    /// What the server reports of itself, such as `server_encoding`.
    func parameter(_ name: String) -> String? { PQparameterStatus(connection, name).map { String(cString: $0) } }

    /// Why the connection could not be made; libpq's text names host, user and database, never the password.
    var connectError: PGError {
        let text = PQerrorMessage(connection).map { String(cString: $0) } ?? ""
        // libpq repeats the advice on every address; the first line says it.
        guard let line = text.split(separator: "\n").first else {
            return PGError(.unavailable, "cannot connect to PostgreSQL")
        }
        return .refused(String(line))
    }

    // MARK: Connecting

    enum Poll { case reading, writing, done, failed }

    func poll() -> Poll {
        switch PQconnectPoll(connection) {
        case PGRES_POLLING_READING: .reading
        case PGRES_POLLING_WRITING: .writing
        case PGRES_POLLING_OK: .done
        default: .failed
        }
    }

    func becomeNonBlocking() { PQsetnonblocking(connection, 1) }

    // MARK: Pipeline mode

    func enterPipelineMode() -> Bool { PQenterPipelineMode(connection) == 1 }
    func exitPipelineMode() -> Bool { PQexitPipelineMode(connection) == 1 }
    func sync() -> Bool { PQpipelineSync(connection) == 1 }

    func send(_ sql: String, _ parameters: BoundParameters) -> Bool {
        parameters.withPointers { count, values, lengths, formats in
            PQsendQueryParams(connection, sql, count, nil, values, lengths, formats, 0) == 1
        }
    }

    func prepare(_ name: String, _ sql: String) -> Bool { PQsendPrepare(connection, name, sql, 0, nil) == 1 }

    func execute(_ name: String, _ parameters: BoundParameters) -> Bool {
        parameters.withPointers { count, values, lengths, formats in
            PQsendQueryPrepared(connection, name, count, values, lengths, formats, 0) == 1
        }
    }

    // MARK: Outside pipeline mode

    func sendSimple(_ sql: String) -> Bool { PQsendQuery(connection, sql) == 1 }

    func putCopyData(_ bytes: [UInt8]) -> Bool {
        bytes.withUnsafeBytes { bytes in
            PQputCopyData(connection, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(bytes.count)) == 1
        }
    }

    func putCopyEnd() -> Bool { PQputCopyEnd(connection, nil) == 1 }

    // MARK: Moving bytes

    enum Flush { case done, blocked, failed }

    func flush() -> Flush {
        switch PQflush(connection) {
        case 0: .done
        case 1: .blocked
        default: .failed
        }
    }

    /// Reads what has arrived. False when the connection is lost.
    func consumeInput() -> Bool { PQconsumeInput(connection) == 1 }

    /// The next result, or nil between two statements. Only when not busy: it would block.
    func nextResult() -> ResultHandle? { PQgetResult(connection).map(ResultHandle.init(adopting:)) }

    func nextNotification() -> PGNotification? {
        guard let notification = PQnotifies(connection) else { return nil }
        defer { PQfreemem(notification) }
        return PGNotification(
            channel: String(cString: notification.pointee.relname),
            payload: String(cString: notification.pointee.extra)
        )
    }
}
