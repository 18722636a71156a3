import EventLoop
import PostgreSQL
import TestSupport
import Testing

@Suite("A connection to PostgreSQL", .emptyDatabase, .timeLimit(.minutes(5)))
struct QueryTests {
    private let deadline = ContinuousClock.now + .seconds(120)

    @Test("brings values of every type there and back")
    func values() async throws {
        let connection = try await TestDatabase.current.connect()
        let time = PGTimestamp(unixMicroseconds: 1_784_493_963_000_123)
        let row = try await connection.query(
            "SELECT $1::bigint, $2::text, $3::bytea, $4::timestamptz, $5::bool, $6::text, $7::float8",
            [.int(.min), "é\"\\\n🇦🇷", .bytes([0, 1, 255]), .timestamp(time), true, .null, .double(1.5)],
            by: deadline
        )[0]
        #expect(row.int(0) == .min)
        #expect(row.text(1) == "é\"\\\n🇦🇷")
        #expect(row.bytes(2) == [0, 1, 255])
        #expect(row.timestamp(3) == time)
        #expect(row.bool(4))
        #expect(row.optionalText(5) == nil)
        #expect(row.double(6) == 1.5)
        await connection.close()
    }

    @Test(
        "keeps a moment to the microsecond",
        arguments: [
            0, -1, 951_782_400_000_000, -62_135_596_800_000_000, 253_402_300_799_999_999, -99_000_000_000_000_000,
        ]
    )
    func timestamps(microseconds: Int64) async throws {
        let connection = try await TestDatabase.current.connect()
        let time = PGTimestamp(unixMicroseconds: microseconds)
        let row = try await connection.query(
            "SELECT $1::timestamptz, (extract(epoch FROM $1::timestamptz) * 1000000)::bigint",
            [.timestamp(time)],
            by: deadline
        )[0]
        #expect(row.timestamp(0) == time)
        #expect(row.int(1) == microseconds)
        await connection.close()
    }

    @Test("takes arrays with NULLs, quotes and nothing in them")
    func arrays() async throws {
        let connection = try await TestDatabase.current.connect()
        let rows = try await connection.query(
            "SELECT * FROM unnest($1::bytea[], $2::bigint[], $3::text[], $4::bool[], $5::timestamptz[])",
            [
                .byteaArray([[1], nil, []]), .int8Array([1, nil, -3]), .textArray(["a,\"\\{}", nil, "NULL"]),
                .boolArray([true, false, nil]), .timestampArray([PGTimestamp(unixSeconds: 0), nil, nil]),
            ],
            by: deadline
        )
        #expect(rows.map { $0.optionalBytes(0) } == [[1], nil, []])
        #expect(rows.map { $0.optionalInt(1) } == [1, nil, -3])
        #expect(rows.map { $0.optionalText(2) } == ["a,\"\\{}", nil, "NULL"])
        #expect(rows.map { $0.optionalBool(3) } == [true, false, nil])
        #expect(rows[0].timestamp(4).unixMicroseconds == 0)
        let back = try await connection.query("SELECT $1::text[]", [.textArray(["x", nil, "\""])], by: deadline)
        #expect(back[0].textArray(0) == ["x", nil, "\""])
        let none = try await connection.query("SELECT cardinality($1::bytea[])", [.byteaArray([])], by: deadline)
        #expect(none[0].int(0) == 0)
        await connection.close()
    }

    @Test("undoes a pipeline whose statement fails, names the statement, and goes on")
    func failingPipeline() async throws {
        let connection = try await TestDatabase.current.connect()
        _ = try await connection.query("CREATE TABLE t (a int PRIMARY KEY)", by: deadline)
        let error = await #expect(throws: PGError.self) {
            try await connection.pipeline(
                ["INSERT INTO t VALUES (1)", "INSERT INTO t VALUES (1)", "INSERT INTO t VALUES (2)"],
                by: deadline
            )
        }
        #expect(error?.statementIndex == 1)
        #expect(error?.isUniqueViolation == true)
        #expect(error?.constraint == "t_pkey")
        #expect(connection.health.state == .idle)
        #expect(try await connection.query("SELECT count(*) FROM t", by: deadline)[0].int(0) == 0)
        let syntax = await #expect(throws: PGError.self) {
            try await connection.pipeline(["SELECT 1", "SELEKT"], by: deadline)
        }
        #expect(syntax?.statementIndex == 1)
        await connection.close()
    }

    @Test("reports what a deferred constraint refuses at the commit")
    func deferredConstraint() async throws {
        let connection = try await TestDatabase.current.connect()
        _ = try await connection.query("CREATE TABLE t (a int UNIQUE DEFERRABLE INITIALLY DEFERRED)", by: deadline)
        let error = await #expect(throws: PGError.self) {
            try await connection.pipeline(["INSERT INTO t VALUES (1)", "INSERT INTO t VALUES (1)"], by: deadline)
        }
        #expect(error?.sqlState == "23505")
        #expect(try await connection.query("SELECT count(*) FROM t", by: deadline)[0].int(0) == 0)
        await connection.close()
    }

    @Test("keeps a setting of a pipeline's transaction to itself")
    func localSetting() async throws {
        let connection = try await TestDatabase.current.connect()
        let results = try await connection.pipeline(
            ["SELECT set_config('touchline.tenant', 't_1', true)", "SELECT current_setting('touchline.tenant', true)"],
            by: deadline
        )
        #expect(results[1][0].text(0) == "t_1")
        let after = try await connection.query("SELECT current_setting('touchline.tenant', true)", by: deadline)
        #expect(after[0].optionalText(0) ?? "" == "")
        await connection.close()
    }

    @Test("prepares a statement anew after its table has changed")
    func changedTable() async throws {
        let connection = try await TestDatabase.current.connect()
        _ = try await connection.query("CREATE TABLE t (a int)", by: deadline)
        _ = try await connection.query("SELECT * FROM t", by: deadline)
        _ = try await connection.query("ALTER TABLE t ADD COLUMN b int", by: deadline)
        _ = try? await connection.query("SELECT * FROM t", by: deadline)
        _ = try await connection.query("SELECT * FROM t", by: deadline)
        await connection.close()
    }

    @Test("refuses a text with NUL, which libpq would cut off there")
    func textWithNUL() async throws {
        let connection = try await TestDatabase.current.connect()
        let error = await #expect(throws: PGError.self) {
            try await connection.query("SELECT $1::text", ["a\0b"], by: deadline)
        }
        #expect(error?.sqlState == "22021")
        #expect(connection.health.state == .idle)
        await connection.close()
    }

    @Test("keeps a refused value out of the error's text")
    func quotedValue() async throws {
        let connection = try await TestDatabase.current.connect()
        let error = await #expect(throws: PGError.self) {
            try await connection.query("SELECT $1::bigint", ["secret"], by: deadline)
        }
        #expect(error?.sqlState == "22P02")
        #expect(error?.description.contains("secret") == false)
        await connection.close()
    }

    @Test("moves megabytes both ways at once")
    func largeValues() async throws {
        let connection = try await TestDatabase.current.connect()
        let bytes = [UInt8](repeating: 7, count: 4 << 20)
        let results = try await connection.pipeline(
            (0..<8).map { _ in PGStatement("SELECT $1::bytea", [.bytes(bytes)]) },
            by: deadline
        )
        #expect(results.allSatisfy { $0[0].bytes(0) == bytes })
        await connection.close()
    }

    @Test("answers callers in turn that ask at once")
    func concurrentCallers() async throws {
        let connection = try await TestDatabase.current.connect()
        let answers = try await withThrowingTaskGroup(of: Int64.self) { group in
            for number in 0..<100 {
                group.addTask {
                    try await connection.query("SELECT $1::bigint", [.int(number)], by: deadline)[0].int(0)
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(answers.sorted() == (0..<100).map { Int64($0) })
        await connection.close()
    }
}
