internal import CLibPQ

extension PGConnection {
    /// Loads rows by `COPY … FROM STDIN`, the fastest way in.
    ///
    /// - Parameters:
    ///   - sql: `COPY table (columns) FROM STDIN`, in text format.
    ///   - rows: Each a row's values, in the order of the columns; arrays and `bytea` in their text form.
    ///   - deadline: For all of it.
    /// - Returns: The number of rows.
    /// - Throws: ``PGError``; a row that is refused undoes all of them.
    @discardableResult
    package func copyIn(
        _ sql: String,
        rows: some Sequence<[PGValue]>,
        by deadline: ContinuousClock.Instant
    ) async throws(PGError) -> Int {
        try await exclusively(by: deadline) { wire throws(PGError) in
            // COPY is not allowed inside a pipeline.
            guard wire.exitPipelineMode(), wire.sendSimple(sql) else { throw .closed }
            try flush()
            let opening = try await nextResult(of: wire)
            var failure: PGError?
            if opening.status == PGRES_COPY_IN {
                try await send(rows, over: wire)
            } else {
                failure = opening.error(statementIndex: nil)
            }
            var count = 0
            try await wait(for: .result)
            while let result = wire.nextResult() {
                if result.status == PGRES_COMMAND_OK { count = result.affectedRows }
                if result.status == PGRES_FATAL_ERROR { failure = failure ?? result.error(statementIndex: nil) }
                try await wait(for: .result)
            }
            guard wire.enterPipelineMode() else { throw .closed }
            if let failure { throw failure }
            return count
        }
    }

    private func send(_ rows: some Sequence<[PGValue]>, over wire: Wire) async throws(PGError) {
        var chunk: [UInt8] = []
        for row in rows {
            appendCopyLine(row, to: &chunk)
            guard chunk.count >= 64 * 1_024 else { continue }
            guard wire.putCopyData(chunk) else { throw .closed }
            chunk.removeAll(keepingCapacity: true)
            // Without waiting, all of the rows would gather in libpq's buffer.
            try await wait(for: .flushed)
        }
        guard chunk.isEmpty || wire.putCopyData(chunk), wire.putCopyEnd() else { throw .closed }
        try flush()
    }
}

/// One line of COPY's text format: tabs between, `\N` for NULL, backslash escapes. Source: PostgreSQL, "COPY".
private func appendCopyLine(_ row: [PGValue], to chunk: inout [UInt8]) {
    for (index, value) in row.enumerated() {
        if index > 0 { chunk.append(UInt8(ascii: "\t")) }
        guard let text = value.textForm else {
            chunk.append(contentsOf: [UInt8(ascii: "\\"), UInt8(ascii: "N")])
            continue
        }
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\\"): chunk.append(contentsOf: [byte, byte])
            case UInt8(ascii: "\t"): chunk.append(contentsOf: [UInt8(ascii: "\\"), UInt8(ascii: "t")])
            case UInt8(ascii: "\n"): chunk.append(contentsOf: [UInt8(ascii: "\\"), UInt8(ascii: "n")])
            case UInt8(ascii: "\r"): chunk.append(contentsOf: [UInt8(ascii: "\\"), UInt8(ascii: "r")])
            default: chunk.append(byte)
            }
        }
    }
    chunk.append(UInt8(ascii: "\n"))
}
