internal import CLibPQ

extension PGConnection {
    /// Runs several statements, separated by semicolons, without parameters or rows: a migration.
    ///
    /// - Throws: The ``PGError`` of the statement that failed. Outside a transaction, all of them are undone.
    package func execute(script: String, by deadline: ContinuousClock.Instant) async throws(PGError) {
        try await exclusively(by: deadline) { wire throws(PGError) in
            // Several statements in one text take the simple protocol, which a pipeline does not allow.
            guard wire.exitPipelineMode(), wire.sendSimple(script) else { throw .closed }
            try flush()
            var failure: PGError?
            try await wait(for: .result)
            while let result = wire.nextResult() {
                if result.status == PGRES_FATAL_ERROR { failure = failure ?? result.error(statementIndex: nil) }
                try await wait(for: .result)
            }
            guard wire.enterPipelineMode() else { throw .closed }
            if let failure { throw failure }
        }
    }
}
