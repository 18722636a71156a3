import EventLoop
import PostgreSQL
import TestSupport
import Testing

@Suite("A connection whose time is up, or whose server has gone", .emptyDatabase, .timeLimit(.minutes(5)))
struct DeadlineTests {
    private let deadline = ContinuousClock.now + .seconds(120)

    @Test("closes itself, and the server ends the statement")
    func deadlinePasses() async throws {
        let database = TestDatabase.current
        let connection = try await database.connect()
        let watcher = try await database.connect()
        let process = try await connection.query("SELECT pg_backend_pid()", by: deadline)[0].int(0)
        let error = await #expect(throws: PGError.self) {
            try await connection.query("SELECT pg_sleep(300)", by: .now + .milliseconds(50))
        }
        #expect(error?.kind == .deadline)
        #expect(connection.health.state == .closed)
        let later = await #expect(throws: PGError.self) { try await connection.query("SELECT 1", by: deadline) }
        #expect(later?.isUnavailable == true)
        var isRunning = true
        while isRunning, .now < deadline {
            isRunning = try await !watcher.query(
                "SELECT 1 FROM pg_stat_activity WHERE pid = $1 AND pg_sleep(0.05) IS NOT NULL",
                [.int(process)],
                by: deadline
            ).isEmpty
        }
        #expect(!isRunning)
        await watcher.close()
    }

    @Test("fails all who wait for their turn")
    func waitingCalls() async throws {
        let connection = try await TestDatabase.current.connect()
        let failures = await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<20 {
                group.addTask {
                    do throws(PGError) {
                        _ = try await connection.query("SELECT pg_sleep(300)", by: .now + .milliseconds(100))
                        return false
                    } catch {
                        return error.isUnavailable
                    }
                }
            }
            return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(failures == 20)
    }

    @Test("says so while it is idle and while it works")
    func serverEndsIt() async throws {
        let database = TestDatabase.current
        let watcher = try await database.connect()
        let connection = try await database.connect()
        let process = try await connection.query("SELECT pg_backend_pid()", by: deadline)[0].int(0)
        let answer = Task { try await connection.query("SELECT pg_sleep(300)", by: deadline) }
        var isWorking = false
        while !isWorking {
            isWorking = try await !watcher.query(
                "SELECT 1 FROM pg_stat_activity WHERE pid = $1 AND query LIKE '%pg_sleep(300)%'",
                [.int(process)],
                by: deadline
            ).isEmpty
        }
        _ = try await watcher.query(
            "SELECT pg_terminate_backend($1::bigint::int, 10000)",
            [.int(process)],
            by: deadline
        )
        let error = await #expect(throws: PGError.self) { try await answer.value }
        #expect(error?.kind == .unavailable)
        #expect(connection.health.state == .closed)
        await watcher.close()
    }

    @Test(
        "cannot be made where nobody listens",
        arguments: [
            "host=127.0.0.1 port=1 user=nobody password=secret", "host=/nonexistent", "host=localhost port=1 dbname=x",
        ]
    )
    func nobodyListens(conninfo: String) async throws {
        let error = await #expect(throws: PGError.self) {
            try await PGConnection.connect(conninfo, on: TestDatabase.current.loop, by: deadline)
        }
        #expect(error?.kind == .unavailable)
        #expect(error?.description.contains("secret") == false)
    }

    @Test("keeps an unreadable connection string to itself")
    func unreadableConninfo() async throws {
        let error = await #expect(throws: PGError.self) {
            try await PGConnection.connect("password:secret", on: TestDatabase.current.loop, by: deadline)
        }
        #expect(error?.kind == .configuration)
        #expect(error?.description.contains("secret") == false)
    }

    @Test("tells what others notify until it is closed")
    func notifications() async throws {
        let database = TestDatabase.current
        let listener = try await database.connect()
        let sender = try await database.connect()
        let stream = try await listener.listen(["touchline"], by: deadline)
        for number in 0..<3 {
            _ = try await sender.query("SELECT pg_notify('touchline', $1)", [.text("\(number)")], by: deadline)
        }
        var payloads: [String] = []
        for await notification in stream {
            payloads.append(notification.payload)
            if payloads.count == 3 { await listener.close() }
        }
        #expect(payloads == ["0", "1", "2"])
        await sender.close()
    }
}
