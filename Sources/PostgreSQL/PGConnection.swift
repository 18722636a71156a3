package import EventLoop

/// One connection to PostgreSQL, pinned to an event loop: nothing here blocks, and every call ends by its deadline.
///
/// It stays in pipeline mode. Calls made while another one runs wait for it. After a lost connection or a passed deadline
/// its state at the server is unknown, so it closes itself and every later call fails: it is never used again.
///
/// The loop keeps the connection alive until ``close()``, or until it closes itself.
package actor PGConnection {
    let loop: EventLoop
    package nonisolated let health = ConnectionHealth()

    private var wire: Wire?
    private var watch: Watch?
    /// Who waits for the wire, and for what. At most one: calls take turns.
    private var waiter: (condition: Condition, continuation: CheckedContinuation<PGError?, Never>)?
    /// Why it closed, for the call that was running then.
    private var ending: PGError?
    private var isTaken = false
    private var isConnected = false
    private var waitingCalls: [CheckedContinuation<Void, Never>] = []
    var prepared: [String: String] = [:]
    var lastPrepared = 0
    private var notifications: AsyncStream<PGNotification>.Continuation?

    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// Neither changed nor prepared for anything: to look at the session as it comes.
    let isBare: Bool

    private init(loop: EventLoop, isBare: Bool) {
        self.loop = loop
        self.isBare = isBare
    }

    /// Connects, and runs `setup` (statements without parameters) before anything else.
    ///
    /// - Parameters:
    ///   - conninfo: libpq's form, `postgres://user:password@host/database` or `host=/run/… dbname=…`.
    ///   - setup: Statements that make the session what it is to be.
    ///   - loop: Where the connection lives.
    ///   - deadline: For the whole of it, name lookup and `setup` included.
    /// - Returns: The connection, outside a transaction.
    /// - Throws: ``PGError`` of kind configuration for an unreadable `conninfo` or a database that is not in UTF-8, else
    ///   unavailable or deadline.
    package static func connect(
        _ conninfo: String,
        setup: [String] = [],
        on loop: EventLoop,
        by deadline: ContinuousClock.Instant
    ) async throws(PGError) -> PGConnection {
        try await connect(conninfo, setup: setup, isBare: false, on: loop, by: deadline)
    }

    static func connect(
        _ conninfo: String,
        setup: [String] = [],
        isBare: Bool,
        on loop: EventLoop,
        by deadline: ContinuousClock.Instant
    ) async throws(PGError) -> PGConnection {
        let servers = try await ConnectionOptions(conninfo).resolved(by: deadline).servers()
        var failure = PGError.deadlinePassed
        for (index, server) in servers.enumerated() {
            let connection = PGConnection(loop: loop, isBare: isBare)
            // An equal share of what is left: one that does not answer leaves the others theirs.
            let share = (deadline - .now) / (servers.count - index)
            do throws(PGError) {
                try await connection.open(server, setup: setup, by: .now + share)
                return connection
            } catch {
                failure = error
            }
        }
        throw failure
    }

    /// Closes at once; a call that is running fails as unavailable. Once more is harmless.
    package func close() { fail(.closed) }

    /// The server's version, such as 150020; 0 once closed.
    package var serverVersion: Int { wire?.serverVersion ?? 0 }

    /// Who serves this connection, as it says itself; 0 once closed.
    var backendProcessID: Int32 { wire?.backendProcessID ?? 0 }

    // MARK: - One call at a time

    /// Runs `body` with the connection to itself. Any error but the server's own closes the connection.
    func exclusively<Value>(
        by deadline: ContinuousClock.Instant,
        _ body: (Wire) async throws(PGError) -> Value
    ) async throws(PGError) -> Value {
        while isTaken {
            await withCheckedContinuation { continuation in
                // Asked again: the other call may have ended while this one was on its way here.
                if isTaken { waitingCalls.append(continuation) } else { continuation.resume() }
            }
        }
        guard let wire else {
            letNextCallIn()
            throw .closed
        }
        isTaken = true
        health.state = .inUse
        let timer = loop.schedule(at: deadline) { self.fail(.deadlinePassed) }
        defer {
            loop.cancel(timer)
            isTaken = false
            if self.wire != nil { health.state = wire.transactionState }
            letNextCallIn()
        }
        do throws(PGError) {
            return try await body(wire)
        } catch {
            if error.kind != .statement { fail(error) }
            throw error
        }
    }

    private func letNextCallIn() {
        if !waitingCalls.isEmpty { waitingCalls.removeFirst().resume() }
    }

    // MARK: - Waiting for the wire

    enum Condition {
        /// Everything was handed to the kernel.
        case flushed
        /// `nextResult` does not block.
        case result
        /// The descriptor is ready: while connecting, where libpq says for what.
        case ready
    }

    /// Suspends until `condition` holds.
    func wait(for condition: Condition) async throws(PGError) {
        guard let wire else { throw ending ?? .closed }
        guard !holds(condition, wire) else { return }
        let failure: PGError? = await withCheckedContinuation { continuation in
            precondition(waiter == nil, "two calls wait on one connection")
            // Asked once more: the loop may have taken in the answer while this task was on its way here, and it will
            // not call again for what it has read already.
            guard let wire = self.wire else { return continuation.resume(returning: ending ?? PGError.closed) }
            guard !holds(condition, wire) else { return continuation.resume(returning: nil) }
            waiter = (condition, continuation)
            if condition != .ready { setInterest(wire) }
        }
        if let failure { throw failure }
    }

    private func holds(_ condition: Condition, _ wire: Wire) -> Bool {
        switch condition {
        case .flushed: wire.flush() == .done
        case .result: !wire.isBusy
        case .ready: false
        }
    }

    /// Sends what is buffered, and the rest of it as the socket takes it, while results are read.
    func flush() throws(PGError) {
        guard let wire else { throw ending ?? .closed }
        if wire.flush() == .failed { throw PGError(.unavailable, "the connection to PostgreSQL was lost") }
        setInterest(wire)
    }

    private func setInterest(_ wire: Wire) {
        guard let watch else { return }
        loop.change(watch, to: wire.flush() == .blocked ? [.read, .write] : .read)
    }

    private func becameReady(_ readiness: Readiness) {
        guard let wire else { return }
        guard isConnected else {
            // Without a waiter yet: it is called again, as readiness is told by level.
            if waiter?.condition == .ready { resumeWaiter(nil) }
            return
        }
        if !readiness.isDisjoint(with: [.read, .hangup]), !wire.consumeInput() {
            return fail(PGError(.unavailable, "the connection to PostgreSQL was lost"))
        }
        while let notification = wire.nextNotification() { notifications?.yield(notification) }
        if readiness.contains(.write) { setInterest(wire) }
        if let waiter {
            if holds(waiter.condition, wire) { resumeWaiter(nil) }
        } else if !isTaken, wire.isBad {
            // Nobody expected anything: the server said good-bye, as at its shutdown.
            fail(PGError(.unavailable, "the connection to PostgreSQL was lost"))
        }
    }

    private func resumeWaiter(_ failure: PGError?) {
        guard let (_, continuation) = waiter else { return }
        waiter = nil
        continuation.resume(returning: failure)
    }

    private func fail(_ error: PGError) {
        guard wire != nil else { return }
        ending = error
        health.state = .closed
        // Out of epoll before `PQfinish` closes the descriptor.
        if let watch { loop.unwatch(watch) }
        watch = nil
        wire = nil
        prepared = [:]
        notifications?.finish()
        notifications = nil
        resumeWaiter(error)
    }

    // MARK: - Connecting

    private func open(
        _ options: ConnectionOptions,
        setup: [String],
        by deadline: ContinuousClock.Instant
    ) async throws(PGError) {
        wire = try Wire(startingWith: options)
        try await exclusively(by: deadline) { wire throws(PGError) in
            var step = Wire.Poll.writing
            while step != .done {
                guard step != .failed, !wire.isBad else { throw wire.connectError }
                try watchOnce(wire, for: step == .reading ? .read : .write)
                try await wait(for: .ready)
                // Polling may close the descriptor and open another one of the same number.
                if let watch { loop.unwatch(watch) }
                step = wire.poll()
            }
            try watchOnce(wire, for: .read)
            wire.becomeNonBlocking()
            isConnected = true
            guard wire.enterPipelineMode() else { throw wire.connectError }
        }
        guard !isBare else { return }
        // Any other would refuse some of the world's names, or keep bytes that are no text.
        if let encoding = wire?.parameter("server_encoding"), encoding != "UTF8" {
            let error = PGError(.configuration, SessionFinding.encodingDetail(encoding))
            fail(error)
            throw error
        }
        try await sessionSetup(setup, by: deadline)
    }

    private func watchOnce(_ wire: Wire, for interest: Interest) throws(PGError) {
        // The deadline may have passed while this task was on its way here.
        guard self.wire != nil else { throw ending ?? .closed }
        do {
            watch = try loop.watch(wire.descriptor, for: interest) { readiness in self.becameReady(readiness) }
        } catch {
            throw PGError(.unavailable, error.description)
        }
    }

    /// Output forms that the rows are read in, and an end to statements whose client has gone: a passed deadline closes
    /// the connection, which the server would otherwise notice only when it has an answer.
    ///
    /// A commit that was answered survives a crash, whatever the role's or the database's `synchronous_commit`: what need
    /// not survive says so itself. And the schema stays the one that it is now: `"$user"` in a search path would become
    /// another with `SET ROLE`, and an empty path none.
    private func sessionSetup(_ setup: [String], by deadline: ContinuousClock.Instant) async throws(PGError) {
        let own: [PGStatement] = [
            """
            SELECT set_config(name, value, false)
            FROM (VALUES ('TimeZone', 'UTC'), ('DateStyle', 'ISO, YMD'), ('bytea_output', 'hex'),
                         ('client_connection_check_interval', '2s'),
                         ('search_path', coalesce(quote_ident(current_schema()), 'public')),
                         ('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on' END))
                AS wanted (name, value)
            WHERE value IS NOT NULL AND lower(name) IN (SELECT lower(name) FROM pg_settings)
            """
        ]
        do throws(PGError) {
            _ = try await pipeline(own + setup.map { PGStatement($0) }, by: deadline)
        } catch {
            fail(error)
            // A statement of this name in a session that has just begun is another client's.
            guard error.sqlState == "42P05" || error.sqlState == "26000" else { throw error }
            throw PGError(.configuration, "a connection pooler hands sessions on between clients as they are")
        }
    }

    // MARK: - Notifications

    /// Where ``listen(_:by:)`` puts what arrives.
    func openNotifications() -> AsyncStream<PGNotification> {
        notifications?.finish()
        let (stream, continuation) = AsyncStream.makeStream(
            of: PGNotification.self,
            bufferingPolicy: .bufferingNewest(4_096)
        )
        notifications = continuation
        return stream
    }
}
