internal import EventLoop
internal import HTTPServer
package import Log
internal import PostgreSQL
internal import Store

/// The whole service of one process: brought up, run until it is told to stop, drained, brought down.
package struct Service: Sendable {
    let settings: Settings
    /// Its counts are metrics.
    let output: LogOutput?
    let log: Logger

    /// - Parameters:
    ///   - settings: What the operator chose.
    ///   - output: Takes the lines of all its parts; nil: nobody does.
    package init(settings: Settings, log output: LogOutput?) {
        self.settings = settings
        self.output = output
        log = Logger(output, subsystem: "service")
    }

    /// Serves until `stop` is requested, then drains within ``Settings/drain`` and stops what was started.
    ///
    /// PostgreSQL may come and go meanwhile: calls are answered 503, and everything goes on when it is back.
    ///
    /// - Parameter stop: Requested by SIGTERM, say.
    /// - Throws: ``ServiceFault`` when it cannot be brought up. Then nothing of it runs any more.
    package func run(until stop: StopRequest) async throws(ServiceFault) {
        try checkAddress()
        let loops = try Self.makeLoops()
        let folder = settings.databaseURL == nil ? try DataFolder(settings.dataFolder) : nil
        defer { folder?.release() }
        guard let server = try await startDatabase(in: folder, on: loops, stop) else { return log.info("stopped") }
        do throws(ServiceFault) {
            try await run(on: server, in: folder, loops, until: stop)
        } catch {
            await server.stop()
            throw error
        }
        await server.stop()
        log.info("stopped")
    }

    private func run(
        on server: DatabaseServer,
        in folder: DataFolder?,
        _ loops: [EventLoop],
        until stop: StopRequest
    ) async throws(ServiceFault) {
        guard !stop.isRequested else { return }
        let store = try await openStore(on: server, in: folder, loops)
        let operatorKeyFile = try await ensureOperatorKey(store, in: folder)
        let engine = try Engine(settings, store: store, conninfo: server.conninfo, loops: loops, log: log)
        let listeners = try await Listeners.start(settings, store: store, engine: engine, output: output, loops: loops)
        do throws(ServiceFault) {
            try writeReadyFile(listeners, operatorKeyFile: operatorKeyFile)
        } catch {
            await listeners.drain(by: .now)
            throw error
        }
        announce(listeners, operatorKeyFile: operatorKeyFile)
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await server.keepRunning(log: log.of("database")) }
            group.addTask { await engine.run() }
            await stop.wait()
            let begin = ContinuousClock.now
            log.info(
                "draining",
                [
                    "at_most_s": settings.drain, "connections": listeners.openConnections,
                    "pushes": engine.pushesInHand,
                ]
            )
            let deadline = begin + settings.drain
            removeReadyFile()
            await listeners.drain(by: deadline)
            await engine.drain(by: max(deadline, .now + .milliseconds(100)))
            let fields: LogFields = ["took_s": (ContinuousClock.now - begin), "pushes_cut_short": engine.pushesInHand]
            if engine.pushesInHand > 0 { log.warning("drained", fields) } else { log.info("drained", fields) }
            group.cancelAll()
            // Now: pushes that APNs does not answer would hold their runners beyond the deadline.
            await engine.close()
        }
        await store.shutdown()
    }

    private func announce(_ listeners: Listeners, operatorKeyFile: String?) {
        log.info(
            "serving",
            [
                "url": listeners.url, "metrics_url": listeners.metricsURL, "operator_key_file": operatorKeyFile,
                "roles": settings.roles.map(\.rawValue).sorted().joined(separator: ","),
            ]
        )
    }

    /// As many as there are processors, at most 8. They live as long as the process: work may be handed to a loop up to
    /// the very end.
    private static func makeLoops() throws(ServiceFault) -> [EventLoop] {
        var loops: [EventLoop] = []
        do {
            for number in 0..<min(Processors.usable, 8) { loops.append(try EventLoop(name: "loop \(number)")) }
        } catch {
            throw ServiceFault("\(error)")
        }
        return loops
    }
}
