import PostgreSQL
import TestSupport
import Testing

@Suite("COPY into a table", .emptyDatabase, .timeLimit(.minutes(5)))
struct CopyTests {
    private let deadline = ContinuousClock.now + .seconds(120)

    @Test("loads rows with every awkward character, and the connection goes on")
    func awkwardRows() async throws {
        let connection = try await TestDatabase.current.connect()
        _ = try await connection.query("CREATE TABLE t (a bigint, b text, c bytea)", by: deadline)
        let text = "tab\t back\\ line\n return\r \\N"
        let count = try await connection.copyIn(
            "COPY t (a, b, c) FROM STDIN",
            rows: (0..<50_000).map { [.int($0), $0 == 7 ? .null : .text(text), .bytes([0, 10, 255])] },
            by: deadline
        )
        #expect(count == 50_000)
        let rows = try await connection.query("SELECT b, c FROM t WHERE a IN (7, 8) ORDER BY a", by: deadline)
        #expect(rows[0].isNull(0))
        #expect(rows[1].text(0) == text)
        #expect(rows[1].bytes(1) == [0, 10, 255])
        await connection.close()
    }

    @Test("loads nothing when one row is refused")
    func refusedRow() async throws {
        let connection = try await TestDatabase.current.connect()
        _ = try await connection.query("CREATE TABLE t (a bigint)", by: deadline)
        let error = await #expect(throws: PGError.self) {
            try await connection.copyIn("COPY t FROM STDIN", rows: [[1], ["x"], [2]], by: deadline)
        }
        #expect(error?.kind == .statement)
        #expect(try await connection.query("SELECT count(*) FROM t", by: deadline)[0].int(0) == 0)
        let missing = await #expect(throws: PGError.self) {
            try await connection.copyIn("COPY absent FROM STDIN", rows: [[1]], by: deadline)
        }
        #expect(missing?.sqlState == "42P01")
        #expect(connection.health.state == .idle)
        await connection.close()
    }
}
