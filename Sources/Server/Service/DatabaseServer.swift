internal import EventLoop
internal import Log
internal import PostgreSQL

/// The PostgreSQL that the service works on: the operator's, or one of its own.
struct DatabaseServer: Sendable {
    let conninfo: String
    let cluster: EmbeddedCluster?

    /// Starts an embedded one again whenever it ends by itself, until the task is cancelled.
    func keepRunning(log: Logger) async {
        guard let cluster else { return }
        await cluster.keepRunning { log.warning("the embedded PostgreSQL", ["state": $0]) }
    }

    /// Stops an embedded one.
    func stop() async { await cluster?.stop(by: .now + .seconds(20)) }
}

extension Service {
    /// Starts the embedded server, or takes the operator's.
    ///
    /// - Returns: Nil when `stop` was requested meanwhile.
    func startDatabase(
        in folder: DataFolder?,
        on loops: [EventLoop],
        _ stop: StopRequest
    ) async throws(ServiceFault) -> DatabaseServer? {
        if let url = settings.databaseURL {
            try await waitForDatabase(url, on: loops[0], stop)
            return DatabaseServer(conninfo: url, cluster: nil)
        }
        guard let folder else { preconditionFailure("an embedded database without a folder") }
        var configuration = EmbeddedCluster.Configuration(directory: folder.path)
        configuration.isDisposable = settings.isDisposable
        do {
            let cluster = try await start(configuration, on: loops[0], unless: stop).get()
            let log = log.of("database")
            log.info(
                "runs a PostgreSQL of its own; DATABASE_URL names another",
                ["pid": Int(cluster.processID), "folder": folder.path, "taken_over": cluster.wasTakenOver]
            )
            for remark in cluster.remarks { log.warning("the embedded PostgreSQL", ["state": remark]) }
            return DatabaseServer(conninfo: cluster.connectionString, cluster: cluster)
        } catch {
            guard !stop.isRequested else { return nil }
            throw ServiceFault("\(error)")
        }
    }

    /// After a crash PostgreSQL first works off its log, which may take minutes: so long it is waited for, unless we are
    /// told to stop.
    private func start(
        _ configuration: EmbeddedCluster.Configuration,
        on loop: EventLoop,
        unless stop: StopRequest
    ) async -> Result<EmbeddedCluster, any Error> {
        await withTaskGroup(of: Result<EmbeddedCluster, any Error>?.self) { group in
            group.addTask {
                do {
                    return .success(try await EmbeddedCluster.start(configuration, on: loop, by: .now + .seconds(900)))
                } catch {
                    return .failure(error)
                }
            }
            group.addTask {
                await stop.wait()
                return nil
            }
            var outcome: Result<EmbeddedCluster, any Error>?
            while outcome == nil, let next = await group.next() {
                outcome = next
                group.cancelAll()
            }
            return outcome ?? .failure(ServiceFault("stopped"))
        }
    }

    /// A server that starts at the same moment as we do may take a while; one that is not there is a fault.
    private func waitForDatabase(
        _ url: String,
        on loop: EventLoop,
        _ stop: StopRequest
    ) async throws(ServiceFault) {
        let end = ContinuousClock.now + .seconds(30)
        var isFirst = true
        while !stop.isRequested {
            do throws(PGError) {
                let connection = try await PGConnection.connect(url, on: loop, by: min(end, .now + .seconds(5)))
                await connection.close()
                return
            } catch {
                guard error.isUnavailable else { throw ServiceFault("DATABASE_URL: \(error)") }
                guard .now < end, !error.isRefusal else {
                    throw ServiceFault("PostgreSQL cannot be reached: \(error)", hint: "Check DATABASE_URL.")
                }
                if isFirst { log.of("database").warning("waiting for PostgreSQL", ["reason": "\(error)"]) }
                isFirst = false
                try? await Task.sleep(for: .milliseconds(500))
            }
        }
    }
}

extension PGError {
    /// The server is there and does not want us: a wrong password, no such database. It says so in words only.
    fileprivate var isRefusal: Bool {
        message.contains("FATAL:") && !message.contains("starting up") && !message.contains("shutting down")
            && !message.contains("too many") && !message.contains("remaining connection slots")
    }
}
