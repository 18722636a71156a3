package import EventLoop
internal import Glibc

/// A PostgreSQL server of one's own, for whoever has not set `DATABASE_URL`: made at the first start, kept afterwards.
///
/// It listens on a unix socket only, in a short folder of mode 0700 that belongs to the user it runs as; whoever can enter
/// that folder is trusted. The server has a session of its own, so that an interrupt at the terminal reaches only us. It
/// survives our being killed: the next start takes it over.
package final class EmbeddedCluster: Sendable {
    package struct Configuration: Sendable {
        /// Touchline's folder; the cluster goes to `postgres` inside it.
        package var directory: String
        package var database = "touchline"
        package var maxConnections = 100
        /// For tests and demos: nothing survives a crash of the machine, and the server ends with this process, however
        /// that ends. All of `directory` is deleted then.
        package var isDisposable = false
        /// Disposable, but what was committed survives a kill of the server, as it would anywhere: for tests that kill it.
        package var survivesKilling = false
        /// For tests: settings of the server's over ours, `name=value`.
        package var settings: [String] = []
        /// For tests: what the server has in its environment beside ours.
        package var environment: [String: String] = [:]

        package init(directory: String) { self.directory = directory }
    }

    /// Of the running server, for libpq. Stays the same when the server is started again.
    package let connectionString: String
    /// Whether the server of an earlier, killed process went on running.
    package let wasTakenOver: Bool
    /// What the operator should know: where the files are, when that is not inside the folder, and what does not count.
    package let remarks: [String]

    private let configuration: Configuration
    private let place: ClusterPlace
    private let binaries: ClusterBinaries
    private let socketDirectory: String
    private let loop: EventLoop
    private let running: ThreadLock<Running>

    private struct Running {
        var server: ClusterServer
        var guardian: ClusterGuardian?
        var isStopping = false
    }

    /// Makes the cluster if there is none, and starts its server, or takes over one that runs.
    ///
    /// - Parameters:
    ///   - configuration: Where, and for how long.
    ///   - loop: For the connections that try whether it answers.
    ///   - deadline: For the whole of it; a first start takes a few seconds.
    /// - Returns: The cluster, answering, its database made.
    /// - Throws: ``PGError`` of kind configuration when binaries, user or folder are not usable, or the server's own words.
    package static func start(
        _ configuration: Configuration,
        on loop: EventLoop,
        by deadline: ContinuousClock.Instant
    ) async throws(PGError) -> EmbeddedCluster {
        let ignored = LibpqEnvironment.clear()
        let place = try await ClusterPlace(in: configuration.directory, by: deadline)
        let binaries = try ClusterBinaries(serverVersion: place.version)
        if let (server, socketDirectory) = try await takeOver(configuration, place, on: loop, by: deadline) {
            return EmbeddedCluster(configuration, place, binaries, socketDirectory, server, ignored, on: loop)
        }
        if !place.exists { try await ClusterServer.initialise(place, binaries, configuration, by: deadline) }
        let socketDirectory = try makeSocketDirectory(for: place.owner)
        let server: ClusterServer
        do throws(PGError) {
            server = try await ClusterServer.start(
                place,
                binaries,
                configuration,
                socketDirectory: socketDirectory,
                on: loop,
                by: deadline
            )
        } catch {
            removeSocketDirectory(socketDirectory, of: place.owner)
            throw error
        }
        return EmbeddedCluster(configuration, place, binaries, socketDirectory, server, ignored, on: loop)
    }

    private init(
        _ configuration: Configuration,
        _ place: ClusterPlace,
        _ binaries: ClusterBinaries,
        _ socketDirectory: String,
        _ server: ClusterServer,
        _ ignored: [String],
        on loop: EventLoop
    ) {
        self.configuration = configuration
        self.place = place
        self.binaries = binaries
        self.socketDirectory = socketDirectory
        self.loop = loop
        wasTakenOver = server.isAdopted
        connectionString = ClusterServer.connectionString(socketDirectory, configuration.database)
        var remarks: [String] = []
        if place.isElsewhere {
            let files = "its PostgreSQL keeps its files in \(place.data)"
            remarks.append("user \(place.owner.name) cannot enter \(place.directory): \(files)")
        }
        if !ignored.isEmpty {
            let names = ignored.joined(separator: ", ")
            remarks.append("set in the environment, and not used for a PostgreSQL of its own: \(names)")
        }
        self.remarks = remarks
        let guardian =
            configuration.isDisposable
            ? ClusterGuardian(
                processID: server.processID,
                folders: [place.data, socketDirectory, place.directory]
            ) : nil
        running = ThreadLock(Running(server: server, guardian: guardian))
    }

    /// The server's process, for messages.
    package var processID: Int32 { running.withLock { $0.server.processID } }

    /// Stops the server: fast (open transactions are rolled back), then harder as `deadline` nears.
    ///
    /// A disposable cluster's files are deleted then.
    ///
    /// - Parameter deadline: Half of the time left is for an orderly end.
    /// - Returns: Whether it ended in order; if not, it recovers at its next start.
    @discardableResult
    package func stop(by deadline: ContinuousClock.Instant) async -> Bool {
        let (server, guardian) = running.withLock { running in
            running.isStopping = true
            return (running.server, running.guardian)
        }
        let isOrderly = await server.stop(by: deadline)
        rmdir(socketDirectory)
        if let guardian {
            await guardian.dismiss()
            place.remove()
            Files.removeTree(place.directory)
        }
        return isOrderly
    }

    /// Starts the server again whenever it ends without ``stop(by:)``, until the task is cancelled.
    ///
    /// - Parameters:
    ///   - pause: How long to leave it ended, asked for each time.
    ///   - report: Takes what happens: "ended; starting it again".
    package func keepRunning(pause: @Sendable () -> Duration = { .zero }, report: @Sendable (String) -> Void) async {
        while !Task.isCancelled {
            let server = running.withLock { $0.server }
            guard await server.waitForEnd(), !running.withLock({ $0.isStopping }), !Task.isCancelled else { return }
            report("ended; starting it again")
            let length = pause()
            if length > .zero { try? await Task.sleep(for: length) }
            guard !running.withLock({ $0.isStopping }), !Task.isCancelled else { return }
            do throws(PGError) {
                let next = try await ClusterServer.start(
                    place,
                    binaries,
                    configuration,
                    socketDirectory: socketDirectory,
                    on: loop,
                    by: .now + .seconds(60)
                )
                await replace(by: next)
                report("runs again (process \(next.processID))")
            } catch {
                report("cannot be started: \(error)")
                try? await Task.sleep(for: .seconds(1))
            }
        }
    }

    private func replace(by server: ClusterServer) async {
        let (guardian, isStopping) = running.withLock { running in
            running.server = server
            return (running.guardian, running.isStopping)
        }
        // Told to stop while it started.
        if isStopping { await server.stop(by: .now + .seconds(10)) }
        guard let guardian else { return }
        // The old one would wait for a process that is gone.
        let next = ClusterGuardian(
            processID: server.processID,
            folders: [place.data, socketDirectory, place.directory]
        )
        await guardian.dismiss()
        running.withLock { $0.guardian = next }
    }

    private static func takeOver(
        _ configuration: Configuration,
        _ place: ClusterPlace,
        on loop: EventLoop,
        by deadline: ContinuousClock.Instant
    ) async throws(PGError) -> (ClusterServer, socketDirectory: String)? {
        guard let file = PostmasterFile(in: place.data) else { return nil }
        switch file.holder(of: place.data) {
        case .server, .unknown: break
        case .stranger:
            // PostgreSQL would take it for a server and refuse to start.
            unlink("\(place.data)/postmaster.pid")
            fallthrough
        case .nobody:
            if let leftover = file.socketDirectory { removeSocketDirectory(leftover, of: place.owner) }
            return nil
        }
        guard let socketDirectory = file.socketDirectory else { return nil }
        let server = ClusterServer(adopting: file.processID)
        guard try await server.answers(socketDirectory, configuration, on: loop, by: deadline) else { return nil }
        return (server, socketDirectory)
    }

    /// `/run` for root, else `/tmp`: a socket's path may have 107 bytes, and `--data` may be deep.
    private static func makeSocketDirectory(for owner: ClusterOwner) throws(PGError) -> String {
        for parent in geteuid() == 0 ? ["/run", "/tmp"] : ["/tmp", "/var/tmp"] {
            guard let path = TemporaryFolder.make(prefix: "\(parent)/\(socketPrefix)") else { continue }
            try Files.give(path, to: owner)
            return path
        }
        throw Files.failure("cannot make a folder for the database's socket in", "/tmp")
    }

    private static let socketPrefix = "touchline-"

    /// Of a server that did not remove it itself.
    private static func removeSocketDirectory(_ path: String, of owner: ClusterOwner) {
        guard path.split(separator: "/").last?.hasPrefix(socketPrefix) == true else { return }
        guard Files.owner(path) == owner.userID else { return }
        Files.removeTree(path)
    }
}
