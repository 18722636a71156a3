internal import EventLoop
internal import Glibc

/// The postmaster: one that we started, or one that an earlier process left running.
struct ClusterServer: Sendable {
    let processID: pid_t
    /// Nil for one that is not our child.
    private let child: ChildProcess?

    init(adopting processID: pid_t) {
        self.processID = processID
        child = nil
    }

    private init(_ child: ChildProcess) {
        processID = child.processID
        self.child = child
    }

    var isAdopted: Bool { child == nil }

    static func connectionString(_ socketDirectory: String, _ database: String) -> String {
        "host=\(socketDirectory) user=touchline dbname=\(database)"
    }

    // MARK: - Making the cluster

    /// Runs `initdb` beside the final place and renames: a first start that is killed leaves nothing half-made.
    static func initialise(
        _ place: ClusterPlace,
        _ binaries: ClusterBinaries,
        _ configuration: EmbeddedCluster.Configuration,
        by deadline: ContinuousClock.Instant
    ) async throws(PGError) {
        let fresh = "\(place.data).new"
        Files.removeTree(fresh)
        try Files.makeDirectory(fresh, mode: 0o700, owner: place.owner)
        var arguments = [
            "-D", fresh, "-U", "touchline", "-E", "UTF8", "--locale=C.UTF-8", "--auth-local=trust",
            "--auth-host=reject", "--no-instructions",
        ]
        if configuration.isDisposable { arguments.append("--no-sync") }
        var options = ChildProcess.Options(binaries.initdb, arguments)
        options.user = place.owner.user
        options.environment = environment
        options.hasOwnSession = true
        do {
            let (ending, output) = try await ChildProcess.run(options, by: deadline)
            guard ending?.isSuccess == true else {
                Files.removeTree(fresh)
                throw PGError(.configuration, ending == nil ? "initdb did not end in time" : explain("initdb", output))
            }
        } catch let error as ChildProcessError {
            throw PGError(.configuration, error.description)
        } catch {
            throw error as? PGError ?? PGError(.configuration, "initdb: \(error)")
        }
        guard rename(fresh, place.data) == 0 else { throw Files.failure("cannot make the cluster in", place.data) }
    }

    // MARK: - Starting

    /// Starts the postmaster, and waits until it answers and the database is there.
    static func start(
        _ place: ClusterPlace,
        _ binaries: ClusterBinaries,
        _ configuration: EmbeddedCluster.Configuration,
        socketDirectory: String,
        on loop: EventLoop,
        by deadline: ContinuousClock.Instant
    ) async throws(PGError) -> ClusterServer {
        rotate(place.logFile)
        var options = ChildProcess.Options(
            binaries.postgres,
            ["-D", place.data, "-k", socketDirectory] + settings(configuration).flatMap { ["-c", $0] }
        )
        options.user = place.owner.user
        options.environment = environment
        if !configuration.environment.isEmpty {
            // By env(1): a library to be loaded first must not be loaded into the program that changes the user.
            options.arguments =
                configuration.environment.map { "\($0)=\($1)" } + [options.executable] + options.arguments
            options.executable = "/usr/bin/env"
        }
        options.hasOwnSession = true
        options.output = .file(place.logFile)
        var failure = PGError(.configuration, "PostgreSQL did not start in time: see \(place.logFile)")
        // Backends of a killed postmaster live on for a moment, and keep a new one from starting.
        for attempt in 0..<20 where ContinuousClock.now < deadline {
            if attempt > 0 { try? await Task.sleep(for: .milliseconds(250)) }
            let logBefore = Files.read(place.logFile) ?? ""
            let child: ChildProcess
            do {
                child = try ChildProcess.start(options)
            } catch {
                throw PGError(.configuration, error.description)
            }
            let server = ClusterServer(child)
            if try await server.answers(socketDirectory, configuration, on: loop, by: deadline) { return server }
            guard child.ending != nil, !Task.isCancelled else {
                await server.stop(by: .now + .seconds(5))
                if Task.isCancelled { throw PGError(.unavailable, "PostgreSQL's start was given up") }
                throw failure
            }
            let log = Files.read(place.logFile) ?? ""
            let news = log.hasPrefix(logBefore) ? String(log.dropFirst(logBefore.count)) : log
            failure = PGError(.configuration, "\(explain("postgres", news)) (see \(place.logFile))")
            guard news.contains("shared memory block") || news.contains("lock file") else { throw failure }
        }
        throw failure
    }

    /// Waits until it answers; makes the database if it is not there.
    ///
    /// - Returns: False when it ended, or the deadline passed.
    func answers(
        _ socketDirectory: String,
        _ configuration: EmbeddedCluster.Configuration,
        on loop: EventLoop,
        by deadline: ContinuousClock.Instant
    ) async throws(PGError) -> Bool {
        let conninfo = Self.connectionString(socketDirectory, "postgres")
        while ContinuousClock.now < deadline, isRunning, !Task.isCancelled {
            let patience = min(deadline, .now + .seconds(5))
            guard let connection = try? await PGConnection.connect(conninfo, on: loop, by: patience) else {
                try? await Task.sleep(for: .milliseconds(20))
                continue
            }
            do throws(PGError) {
                let sql = "SELECT 1 FROM pg_database WHERE datname = $1"
                if try await connection.query(sql, [.text(configuration.database)], by: deadline).isEmpty {
                    // A fresh cluster's template: nothing of ours needs quoting.
                    try await connection.execute(script: "CREATE DATABASE \(configuration.database)", by: deadline)
                }
                await connection.close()
                return true
            } catch {
                await connection.close()
                guard error.isUnavailable else { throw error }
            }
        }
        return false
    }

    // MARK: - Stopping

    /// - Returns: Whether it ended in order.
    @discardableResult
    func stop(by deadline: ContinuousClock.Instant) async -> Bool {
        let left = max(.zero, deadline - .now)
        // Fast shutdown, immediate shutdown, and the end of patience. Source: PostgreSQL, "Shutting Down the Server".
        for (signal, until) in [(SIGINT, deadline - left / 2), (SIGQUIT, deadline - left / 4), (SIGKILL, deadline)] {
            send(signal)
            if await waitForEnd(by: until) { return signal == SIGINT }
        }
        return false
    }

    private var isRunning: Bool { child.map { $0.ending == nil } ?? PostmasterFile.isRunning(processID) }

    private func send(_ signal: Int32) {
        if let child { child.signal(signal) } else { kill(processID, signal) }
    }

    /// - Returns: Whether it has ended; false when the task is cancelled.
    func waitForEnd() async -> Bool {
        // Somebody else's child cannot be waited for, only looked at.
        while isRunning {
            guard (try? await Task.sleep(for: .milliseconds(500))) != nil else { return !isRunning }
        }
        return true
    }

    /// The same with a deadline, which holds in a cancelled task too: the server has to be stopped there as well.
    private func waitForEnd(by deadline: ContinuousClock.Instant) async -> Bool {
        while isRunning {
            guard .now < deadline else { return false }
            await Task { try? await Task.sleep(for: .milliseconds(20)) }.value
        }
        return true
    }

    // MARK: - Details

    private static func settings(_ configuration: EmbeddedCluster.Configuration) -> [String] {
        var settings = [
            "listen_addresses=", "unix_socket_permissions=0700", "max_connections=\(configuration.maxConnections)",
            "shared_buffers=256MB", "max_wal_size=2GB", "checkpoint_timeout=15min", "wal_compression=on",
            "random_page_cost=1.1", "jit=off", "log_min_messages=warning", "log_line_prefix=%m [%p] ",
            "timezone=UTC", "log_timezone=UTC", "autovacuum_naptime=15s", "cluster_name=touchline",
            "idle_in_transaction_session_timeout=60s", "wal_writer_delay=20ms",
        ]
        if configuration.isDisposable {
            settings += ["fsync=off", "full_page_writes=off"]
            if !configuration.survivesKilling { settings.append("synchronous_commit=off") }
        }
        return settings + configuration.settings
    }

    /// Nothing of ours: `PGPORT`, `LC_ALL` and others would change what the server does.
    private static let environment = [
        "PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "TZ": "UTC",
    ]

    /// The line of a program's output that says what went wrong.
    private static func explain(_ program: String, _ output: String) -> String {
        let lines = output.split(separator: "\n")
        let words = ["FATAL:", "error:", "PANIC:"]
        let line = lines.first { line in words.contains { line.contains($0) } } ?? lines.last ?? "no output"
        return "\(program): \(line)"
    }

    /// The log is not let grow for ever: what is over 16 MiB at a start is kept once more as `.1`.
    private static func rotate(_ log: String) {
        var info = stat()
        if stat(log, &info) == 0, info.st_size > 16 * 1_024 * 1_024 { rename(log, "\(log).1") }
    }
}
