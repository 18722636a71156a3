internal import EventLoop
internal import Executables
internal import PostgreSQL
import FoundationEssentials
import Glibc

/// A PostgreSQL of the run's own, which is killed, stopped and frozen, and comes back each time.
///
/// It does not wait for the disk, since no fault here takes the machine's memory away; what it committed survives its being
/// killed all the same. It ends with this process, however that ends.
final class ChaosCluster: Sendable {
    private let cluster: EmbeddedCluster
    private let loop: EventLoop
    /// How long it stays away when it ends next.
    private let pause = ThreadLock(Duration.zero)
    private let keeper: Task<Void, Never>

    /// Makes and starts it below `folder`.
    ///
    /// - Parameters:
    ///   - folder: Made if it is missing.
    ///   - clock: What it takes for the time; nil: this machine's.
    /// - Returns: The cluster, answering.
    /// - Throws: ``Failure`` where PostgreSQL is not installed or does not start.
    static func start(in folder: String, clock: FakeClock? = nil) async throws(Failure) -> ChaosCluster {
        do {
            let loop = try EventLoop(name: "database")
            var configuration = EmbeddedCluster.Configuration(directory: folder)
            configuration.isDisposable = true
            configuration.survivesKilling = true
            if let clock { configuration.environment = clock.environment }
            // The small disk of a run has to hold it.
            configuration.settings = ["max_wal_size=256MB"]
            return ChaosCluster(try await EmbeddedCluster.start(configuration, on: loop, by: .now + .seconds(60)), loop)
        } catch {
            throw Failure(.failed, "no PostgreSQL: \(error)")
        }
    }

    private init(_ cluster: EmbeddedCluster, _ loop: EventLoop) {
        self.cluster = cluster
        self.loop = loop
        keeper = Task { [pause] in
            await cluster.keepRunning(pause: { pause.withLock { $0 } }, report: { _ in })
        }
    }

    /// Of the server that runs now.
    var processID: Int32 { cluster.processID }

    /// For `DATABASE_URL`: the same whenever it is started again.
    var connectionString: String { cluster.connectionString }

    func stop() async {
        keeper.cancel()
        await cluster.stop(by: .now + .seconds(20))
    }

    // MARK: - Faults

    /// Kills all of its processes at once, as if the machine had; it is started again after `length`.
    func kill(for length: Duration) async {
        pause.withLock { $0 = length }
        let processes = processes
        for process in processes { Glibc.kill(process, SIGKILL) }
        try? await Task.sleep(for: length)
    }

    /// Ends it in order, its clients' transactions rolled back; it is started again after `length`.
    func restart(after length: Duration) async {
        pause.withLock { $0 = length }
        Glibc.kill(cluster.processID, SIGINT)
        try? await Task.sleep(for: length)
    }

    /// All of its processes do nothing for `length`.
    func freeze(for length: Duration) async {
        let processes = processes
        for process in processes { Glibc.kill(process, SIGSTOP) }
        try? await Task.sleep(for: length)
        for process in processes { Glibc.kill(process, SIGCONT) }
    }

    /// Cuts the connections of all services, or every other one.
    func cut(everyOther: Bool) async {
        let sql = """
            SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
            WHERE datname = current_database() AND pid <> pg_backend_pid() \(everyOther ? "AND pid % 2 = 0" : "")
            """
        _ = try? await rows(sql) { $0.int(0) }
    }

    /// Returns when it answers, or at the deadline.
    func waitUntilItAnswers(by deadline: ContinuousClock.Instant) async {
        while ContinuousClock.now < deadline, !Task.isCancelled {
            if (try? await rows("SELECT 1", { $0.int(0) })) != nil { return }
            try? await Task.sleep(for: .milliseconds(100))
        }
    }

    /// The postmaster and its children. Source: proc(5), `children`.
    private var processes: [Int32] {
        let postmaster = cluster.processID
        let children = try? String(contentsOfFile: "/proc/\(postmaster)/task/\(postmaster)/children", encoding: .utf8)
        return [postmaster] + (children ?? "").split(separator: " ").compactMap { Int32($0.filter(\.isNumber)) }
    }

    // MARK: - Reading

    /// The rows of one statement, on a connection of its own.
    func rows<Value>(_ sql: String, _ body: (PGRow) -> Value) async throws(Failure) -> [Value] {
        do {
            let connection = try await PGConnection.connect(connectionString, on: loop, by: .now + .seconds(10))
            do {
                let result = try await connection.query(sql, [], by: .now + .seconds(60))
                await connection.close()
                return result.map(body)
            } catch {
                await connection.close()
                throw error
            }
        } catch {
            throw Failure(.failed, "PostgreSQL: \(error)")
        }
    }
}
