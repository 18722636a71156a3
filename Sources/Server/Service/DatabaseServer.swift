internal import EventLoop
internal import Log
internal import PostgreSQL

/// The PostgreSQL that the service works on: the operator's, or one of its own.
struct DatabaseServer: Sendable {
    let conninfo: String
    let cluster: EmbeddedCluster?
    /// What its sessions are like; nil: they are as we made them.
    let facts: SessionFacts?

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
            guard let facts = try await waitForDatabase(url, on: loops[0], stop) else { return nil }
            return DatabaseServer(conninfo: url, cluster: nil, facts: facts)
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
            return DatabaseServer(conninfo: cluster.connectionString, cluster: cluster, facts: nil)
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

    /// A server that starts at the same moment as we do may take a while, and so may a standby's promotion; one that is not
    /// there, or not fit, is a fault.
    ///
    /// - Returns: What a session is like; nil when `stop` was requested meanwhile.
    private func waitForDatabase(
        _ url: String,
        on loop: EventLoop,
        _ stop: StopRequest
    ) async throws(ServiceFault) -> SessionFacts? {
        let end = ContinuousClock.now + .seconds(30)
        let log = log.of("database")
        var isFirst = true
        while !stop.isRequested {
            let reason: String
            switch await Self.look(at: url, on: loop, by: min(end, .now + .seconds(10))) {
            case .success(let facts):
                let findings = facts.findings(wanting: settings.databaseConnections + 1)
                guard let refused = findings.first(where: \.isRefused) else {
                    for finding in findings {
                        log.warning("the database's settings", ["found": finding.detail, "hint": finding.hint])
                    }
                    return facts
                }
                guard refused.mayPass, .now < end else {
                    throw ServiceFault("PostgreSQL cannot be used: \(refused.detail)", hint: refused.hint)
                }
                reason = refused.detail
            case .failure(let error):
                guard error.isUnavailable else { throw ServiceFault("DATABASE_URL: \(error)") }
                guard .now < end, !error.isRefusal else {
                    throw ServiceFault("PostgreSQL cannot be reached: \(error)", hint: "Check DATABASE_URL.")
                }
                reason = "\(error)"
            }
            if isFirst { log.warning("waiting for PostgreSQL", ["reason": reason]) }
            isFirst = false
            try? await Task.sleep(for: .milliseconds(500))
        }
        return nil
    }

    private static func look(
        at url: String,
        on loop: EventLoop,
        by deadline: ContinuousClock.Instant
    ) async -> Result<SessionFacts, PGError> {
        do throws(PGError) {
            return .success(try await SessionFacts.look(at: url, on: loop, by: deadline))
        } catch {
            return .failure(error)
        }
    }
}
