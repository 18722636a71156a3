package import EventLoop
package import PostgreSQL
package import Store
package import Testing

/// A database of the running test's own, on a real PostgreSQL.
///
/// `@Suite(.database)` or `@Test(.database)` gives one with Touchline's tables, `.emptyDatabase` one without; inside, it is
/// ``current``. The server is that of `TOUCHLINE_TEST_DATABASE_URL`, or one that the test process starts and ends.
package struct TestDatabase: Sendable {
    @TaskLocal private static var scoped: TestDatabase?

    /// For libpq; the user is a superuser.
    package let conninfo: String
    /// For the test's connections.
    package let loop: EventLoop

    /// The running test's.
    package static var current: TestDatabase {
        guard let scoped else { preconditionFailure("the test lacks the trait .database") }
        return scoped
    }

    /// A pool on this database. Not shut down: the database is dropped with its connections.
    package func pool(limit: Int = 4, setup: [String] = Store.setup) -> PGPool {
        PGPool(
            PGPool.Configuration(conninfo: conninfo, setup: setup, limit: limit, connectTimeout: .seconds(60)),
            on: [loop]
        )
    }

    /// A store on this database, with a random master key.
    package func store(limit: Int = 4) -> Store {
        Store(database: pool(limit: limit), api: pool(limit: limit, setup: Store.apiSetup), masterKey: .random())
    }

    package func connect(setup: [String] = []) async throws(PGError) -> PGConnection {
        try await PGConnection.connect(conninfo, setup: setup, on: loop, by: .now + .seconds(120))
    }

    fileprivate static func with(isEmpty: Bool, _ body: @Sendable () async throws -> Void) async throws {
        await TestGate.shared.enter()
        do {
            try await withDatabase(isEmpty: isEmpty, body)
            await TestGate.shared.leave()
        } catch {
            await TestGate.shared.leave()
            throw error
        }
    }

    private static func withDatabase(isEmpty: Bool, _ body: @Sendable () async throws -> Void) async throws {
        let server = try await TestServer.shared.value
        let name = try await server.makeDatabase(isEmpty: isEmpty)
        let conninfo = try Conninfo.changing(server.conninfo, database: name)
        let database = TestDatabase(conninfo: conninfo, loop: server.loop)
        let outcome: Result<Void, any Error>
        do {
            try await $scoped.withValue(database, operation: body)
            outcome = .success(())
        } catch {
            outcome = .failure(error)
        }
        try await server.drop(name)
        try outcome.get()
    }
}

/// Gives each test a ``TestDatabase``.
package struct DatabaseTrait: TestTrait, SuiteTrait, TestScoping {
    fileprivate let isEmpty: Bool
    package let isRecursive = true

    package func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        try await TestDatabase.with(isEmpty: isEmpty, function)
    }
}

extension Trait where Self == DatabaseTrait {
    /// A database with Touchline's tables.
    package static var database: Self { DatabaseTrait(isEmpty: false) }
    /// A database without any table.
    package static var emptyDatabase: Self { DatabaseTrait(isEmpty: true) }
}
