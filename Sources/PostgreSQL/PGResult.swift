internal import CLibPQ

/// The rows that a statement returned, in order.
///
/// Rows are read out of libpq's memory when they are asked for; the last copy of the result frees it.
package struct PGResult: Sendable {
    private let handle: ResultHandle
    /// Rows returned.
    package let count: Int
    /// Rows inserted, updated, deleted or selected.
    package let affectedRows: Int

    init(_ handle: ResultHandle) {
        self.handle = handle
        count = handle.rowCount
        affectedRows = handle.affectedRows
    }

    package var isEmpty: Bool { count == 0 }

    package var first: PGRow? { isEmpty ? nil : self[0] }

    package subscript(row: Int) -> PGRow {
        precondition(row >= 0 && row < count, "row \(row) of \(count)")
        return PGRow(handle: handle, row: Int32(row))
    }
}

extension PGResult: RandomAccessCollection {
    package var startIndex: Int { 0 }
    package var endIndex: Int { count }
}

/// One row; columns by their place, from 0.
///
/// A column that is read as a type it does not have, or as a value when it is NULL, is a mistake in the statement and
/// traps, naming the column.
package struct PGRow: Sendable {
    let handle: ResultHandle
    let row: Int32

    package func isNull(_ column: Int) -> Bool { handle.isNull(row, Int32(column)) }

    package func text(_ column: Int) -> String { required(optionalText(column), column) }
    package func int(_ column: Int) -> Int64 { required(optionalInt(column), column) }
    package func bool(_ column: Int) -> Bool { required(optionalBool(column), column) }
    package func double(_ column: Int) -> Double { required(optionalDouble(column), column) }
    package func bytes(_ column: Int) -> [UInt8] { required(optionalBytes(column), column) }
    package func timestamp(_ column: Int) -> PGTimestamp { required(optionalTimestamp(column), column) }

    package func optionalText(_ column: Int) -> String? {
        read(column) { String(decoding: $0, as: UTF8.self) }
    }

    package func optionalInt(_ column: Int) -> Int64? {
        read(column) { checked(decimal($0), column, "an integer") }
    }

    package func optionalBool(_ column: Int) -> Bool? {
        read(column) { bytes in
            let isBool = bytes.first == UInt8(ascii: "t") || bytes.first == UInt8(ascii: "f")
            return checked(isBool ? bytes.first == UInt8(ascii: "t") : nil, column, "a boolean")
        }
    }

    package func optionalDouble(_ column: Int) -> Double? {
        optionalText(column).map { checked(Double($0), column, "a number") }
    }

    /// A `bytea` column, in PostgreSQL's hex form.
    package func optionalBytes(_ column: Int) -> [UInt8]? {
        read(column) { checked(unhex($0), column, "bytea") }
    }

    package func optionalTimestamp(_ column: Int) -> PGTimestamp? {
        optionalText(column).map { checked(PGTimestamp(postgreSQL: $0), column, "a timestamp") }
    }

    /// A one-dimensional array column, each element in its text form.
    package func textArray(_ column: Int) -> [String?] {
        checked(parseArrayLiteral(text(column)), column, "an array")
    }

    private func required<Value>(_ value: Value?, _ column: Int) -> Value {
        guard let value else { preconditionFailure("column \(column) (\(handle.name(of: column))) is NULL") }
        return value
    }

    private func checked<Value>(_ value: Value?, _ column: Int, _ type: String) -> Value {
        guard let value else { preconditionFailure("column \(column) (\(handle.name(of: column))) is not \(type)") }
        return value
    }

    private func read<Value>(_ column: Int, _ decode: (UnsafeBufferPointer<UInt8>) -> Value) -> Value? {
        handle.withValue(row, Int32(column), decode)
    }
}

/// Owns one `PGresult`.
///
/// `@unchecked`: libpq never changes a result after handing it over, and documents reading and clearing it from any thread.
final class ResultHandle: @unchecked Sendable {
    private let result: OpaquePointer  // PGresult *

    init(adopting result: OpaquePointer) { self.result = result }
    deinit { PQclear(result) }

    var status: ExecStatusType { PQresultStatus(result) }
    var rowCount: Int { Int(PQntuples(result)) }
    var affectedRows: Int { PQcmdTuples(result).flatMap { Int(String(cString: $0)) } ?? 0 }

    func isNull(_ row: Int32, _ column: Int32) -> Bool { PQgetisnull(result, row, column) != 0 }

    func name(of column: Int) -> String { PQfname(result, Int32(column)).map { String(cString: $0) } ?? "absent" }

    /// Calls `body` with the value's bytes, which are valid only inside it; nil for NULL.
    func withValue<Value>(
        _ row: Int32,
        _ column: Int32,
        _ body: (UnsafeBufferPointer<UInt8>) -> Value
    ) -> Value? {
        precondition(column >= 0 && column < PQnfields(result), "column \(column) of \(PQnfields(result))")
        guard PQgetisnull(result, row, column) == 0, let value = PQgetvalue(result, row, column) else { return nil }
        let bytes = UnsafeRawBufferPointer(start: value, count: Int(PQgetlength(result, row, column)))
        return bytes.withMemoryRebound(to: UInt8.self, body)
    }

    /// The error that this result stands for.
    func error(statementIndex: Int?) -> PGError {
        guard let state = c_pq_sqlstate(result) else {
            // No SQLSTATE: libpq's own, which means that the connection is gone.
            return PGError(.unavailable, "the connection to PostgreSQL was lost")
        }
        return .reported(
            sqlState: String(cString: state),
            message: c_pq_message_primary(result).map { String(cString: $0) } ?? "unknown error",
            constraint: c_pq_constraint(result).map { String(cString: $0) },
            statementIndex: statementIndex
        )
    }
}
