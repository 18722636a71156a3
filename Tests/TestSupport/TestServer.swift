internal import EventLoop
internal import Glibc
internal import PostgreSQL
internal import Store
internal import Synchronization

/// The PostgreSQL server of this test process, and a template with Touchline's tables, which is quick to copy.
final class TestServer: Sendable {
    static let shared = Task { try await TestServer.start() }

    let conninfo: String
    let loop: EventLoop
    private let pool: PGPool
    /// Kept: its server ends with this process.
    private let cluster: EmbeddedCluster?
    private let template: Task<String, any Error>
    private let lastDatabase = Atomic<Int>(0)

    private init(conninfo: String, loop: EventLoop, cluster: EmbeddedCluster?) {
        self.conninfo = conninfo
        self.loop = loop
        self.cluster = cluster
        // One at a time: PostgreSQL copies no template while another copy of it begins or ends.
        let pool = PGPool(PGPool.Configuration(conninfo: conninfo, limit: 4, connectTimeout: .seconds(60)), on: [loop])
        self.pool = pool
        template = Task { try await Self.makeTemplate(conninfo, pool, loop) }
    }

    private static func start() async throws -> TestServer {
        let loop = try EventLoop(name: "test database")
        if let url = getenv("TOUCHLINE_TEST_DATABASE_URL") {
            return TestServer(conninfo: String(cString: url), loop: loop, cluster: nil)
        }
        guard let folder = TemporaryFolder.make(prefix: "/tmp/touchline-tests-") else {
            throw PGError(.configuration, "no folder for the test database")
        }
        var configuration = EmbeddedCluster.Configuration(directory: folder)
        configuration.isDisposable = true
        configuration.maxConnections = 300
        let cluster = try await EmbeddedCluster.start(configuration, on: loop, by: .now + .seconds(240))
        return TestServer(conninfo: cluster.connectionString, loop: loop, cluster: cluster)
    }

    private static func makeTemplate(_ conninfo: String, _ pool: PGPool, _ loop: EventLoop) async throws -> String {
        let deadline = ContinuousClock.now + .seconds(240)
        let name = "touchline_template_\(getpid())"
        _ = try await pool.query("CREATE DATABASE \(name) TEMPLATE template0", by: deadline)
        let connection = try await PGConnection.connect(
            Conninfo.changing(conninfo, database: name),
            on: loop,
            by: deadline
        )
        _ = try await Store.migrator.run(on: connection, by: deadline)
        await connection.close()
        return name
    }

    /// - Returns: The new database's name.
    func makeDatabase(isEmpty: Bool) async throws -> String {
        let source = isEmpty ? "template0" : try await template.value
        let number = lastDatabase.add(1, ordering: .relaxed).newValue
        let name = "touchline_test_\(getpid())_\(number)"
        let deadline = ContinuousClock.now + .seconds(240)
        while true {
            do throws(PGError) {
                _ = try await pool.query("CREATE DATABASE \(name) TEMPLATE \(source)", by: deadline)
                return name
            } catch {
                // 55006: the connection that migrated the template is not gone yet, or another copy of it runs.
                guard error.sqlState == "55006", .now < deadline else { throw error }
            }
        }
    }

    func drop(_ name: String) async throws {
        _ = try await pool.query("DROP DATABASE \(name) WITH (FORCE)", by: .now + .seconds(240))
    }
}
