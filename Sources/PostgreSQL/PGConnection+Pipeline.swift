internal import CLibPQ

extension PGConnection {
    /// Statements beyond this many, as when SQL is put together, are sent unprepared.
    private static let mostPrepared = 512

    /// Runs one statement, which is a transaction of its own unless one was begun. Prepared at its first use.
    ///
    /// - Throws: ``PGError``. After kind deadline or unavailable, whether a write was committed is unknown.
    package func query(
        _ sql: String,
        _ parameters: [PGValue] = [],
        by deadline: ContinuousClock.Instant
    ) async throws(PGError) -> PGResult {
        try await pipeline([PGStatement(sql, parameters)], by: deadline)[0]
    }

    /// Runs `statements` in one round trip.
    ///
    /// Unless a transaction was begun, they are one: all of them take effect or none, without `BEGIN` and `COMMIT`
    /// (PostgreSQL 15, 55.2.3), and `set_config(…, true)` lasts to its end.
    ///
    /// - Returns: A result for each, in order.
    /// - Throws: The first failed statement's ``PGError``, with its index; those behind it were not run.
    package func pipeline(
        _ statements: [PGStatement],
        by deadline: ContinuousClock.Instant
    ) async throws(PGError) -> [PGResult] {
        guard !statements.isEmpty else { return [] }
        let bound = statements.map { BoundParameters($0.parameters) }
        if let index = bound.firstIndex(where: \.hasNUL) {
            throw PGError(.statement, "a text contains NUL", sqlState: "22021", statementIndex: index)
        }
        return try await exclusively(by: deadline) { wire throws(PGError) in
            let steps = try send(statements, bound, over: wire)
            try flush()
            return try await results(of: steps, over: wire)
        }
    }

    /// What the server answers to, in order.
    private enum Step {
        case prepare(sql: String, name: String)
        case execute
    }

    private func send(
        _ statements: [PGStatement],
        _ bound: [BoundParameters],
        over wire: Wire
    ) throws(PGError) -> [Step] {
        var steps: [Step] = []
        steps.reserveCapacity(statements.count + 1)
        var fresh: [String: String] = [:]
        var isSent = true
        for (statement, parameters) in zip(statements, bound) where isSent {
            if let name = prepared[statement.sql] ?? fresh[statement.sql] {
                isSent = wire.execute(name, parameters)
            } else if !isBare, prepared.count + fresh.count < Self.mostPrepared {
                lastPrepared += 1
                let name = "s\(lastPrepared)"
                fresh[statement.sql] = name
                steps.append(.prepare(sql: statement.sql, name: name))
                isSent = wire.prepare(name, statement.sql) && wire.execute(name, parameters)
            } else {
                isSent = wire.send(statement.sql, parameters)
            }
            steps.append(.execute)
        }
        guard isSent, wire.sync() else { throw PGError(.unavailable, "the connection to PostgreSQL was lost") }
        return steps
    }

    private func results(of steps: [Step], over wire: Wire) async throws(PGError) -> [PGResult] {
        var results: [PGResult] = []
        results.reserveCapacity(steps.count)
        var failure: PGError?
        var place = 0
        for step in steps {
            let result = try await nextResult(of: wire)
            let isOK = [PGRES_TUPLES_OK, PGRES_COMMAND_OK, PGRES_EMPTY_QUERY].contains(result.status)
            switch step {
            case .prepare(let sql, let name):
                // Not undone by a rollback: what was prepared stays prepared.
                if isOK { prepared[sql] = name }
            case .execute:
                if isOK { results.append(PGResult(result)) }
            }
            if !isOK, result.status != PGRES_PIPELINE_ABORTED, failure == nil {
                failure = result.error(statementIndex: place)
            }
            if case .execute = step { place += 1 }
            try await endOfResult(of: wire)
        }
        // An error that only the commit brings up, as of a deferred constraint, comes before the synchronisation.
        while case let result = try await nextResult(of: wire), result.status != PGRES_PIPELINE_SYNC {
            guard result.status == PGRES_FATAL_ERROR else { throw unexpected() }
            failure = failure ?? result.error(statementIndex: nil)
        }
        guard let failure else { return results }
        if failure.isStalePlan { prepared = [:] }
        throw failure
    }

    /// The next result; waits for it.
    func nextResult(of wire: Wire) async throws(PGError) -> ResultHandle {
        while true {
            try await wait(for: .result)
            guard !wire.isBad else { throw wire.nextResult()?.error(statementIndex: nil) ?? .closed }
            // Nil stands between two statements.
            if let result = wire.nextResult() { return result }
        }
    }

    private func endOfResult(of wire: Wire) async throws(PGError) {
        try await wait(for: .result)
        guard let result = wire.nextResult() else { return }
        // Several results of one statement: not without the simple protocol.
        throw result.status == PGRES_FATAL_ERROR ? result.error(statementIndex: nil) : unexpected()
    }

    private func unexpected() -> PGError { PGError(.unavailable, "PostgreSQL answered out of turn") }
}
