import PostgreSQL
import TestSupport
import Testing

@Suite("A migrator", .emptyDatabase, .timeLimit(.minutes(5)))
struct MigratorTests {
    private let deadline = ContinuousClock.now + .seconds(120)
    private let first = Migrator.Migration(name: "0001_a", sql: "CREATE TABLE a (x int); INSERT INTO a VALUES (1);")
    private let second = Migrator.Migration(name: "0002_b", sql: "ALTER TABLE a ADD COLUMN y int; SELECT 1;")

    @Test("applies each migration once, though several processes begin at the same time")
    func concurrently() async throws {
        let database = TestDatabase.current
        let applied = try await withThrowingTaskGroup(of: [String].self) { group in
            for _ in 0..<5 {
                group.addTask {
                    let connection = try await database.connect()
                    let applied = try await Migrator([first, second]).run(on: connection, by: deadline)
                    await connection.close()
                    return applied
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        #expect(applied == ["0001_a", "0002_b"])
    }

    @Test("undoes one that fails, keeps those before it, and names it")
    func failing() async throws {
        let connection = try await TestDatabase.current.connect()
        let broken = Migrator.Migration(name: "0002_broken", sql: "CREATE TABLE b (x int); SELECT 1/0;")
        let error = await #expect(throws: PGError.self) {
            try await Migrator([first, broken]).run(on: connection, by: deadline)
        }
        #expect(error?.message.contains("0002_broken") == true)
        let missing = try await Migrator([first, second]).missing(on: connection, by: deadline)
        #expect(missing == ["0002_b"])
        #expect(try await connection.query("SELECT to_regclass('b') IS NULL", by: deadline)[0].bool(0))
        #expect(try await Migrator([first, second]).run(on: connection, by: deadline) == ["0002_b"])
        await connection.close()
    }

    @Test("refuses a database that is newer than the program")
    func newerDatabase() async throws {
        let connection = try await TestDatabase.current.connect()
        _ = try await Migrator([first, second]).run(on: connection, by: deadline)
        let error = await #expect(throws: PGError.self) {
            try await Migrator([first]).run(on: connection, by: deadline)
        }
        #expect(error?.kind == .configuration)
        #expect(error?.message.contains("0002_b") == true)
        await connection.close()
    }
}
