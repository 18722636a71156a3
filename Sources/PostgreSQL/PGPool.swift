package import EventLoop

/// What a pool learns of PostgreSQL.
package enum PoolEvent: Sendable {
    case connected
    case connectFailed(PGError)
    /// It has no room for another connection: callers wait for those that are there.
    case connectRefused(PGError)
    /// A call failed, and not by a mistake of its own: its connection was lost, the disk is full, nothing may be written.
    case callFailed(PGError)
}

/// A bounded number of connections, opened as they are needed and spread over the loops.
///
/// At the limit a caller waits, first come first served, to its deadline; past `mostWaiting` callers it is refused at once.
/// While PostgreSQL is away, calls fail at once for a moment that grows, jittered, from 50 ms to 2 s; then one tries again.
/// While it has no room for as many connections, callers wait for those that are there.
package final class PGPool: Sendable {
    package struct Configuration: Sendable {
        /// libpq's form. Holds the password: never printed.
        package var conninfo: String
        /// Run on each new connection: `SET ROLE touchline_api`.
        package var setup: [String]
        /// Connections at most.
        package var limit: Int
        /// Callers that may wait for one at most.
        package var mostWaiting: Int
        /// For opening one connection; a caller's own deadline ends its wait earlier.
        package var connectTimeout: Duration
        /// Told how PostgreSQL fares, from any thread: whoever calls learns only of their own call.
        package var observe: (@Sendable (PoolEvent) -> Void)?

        package init(
            conninfo: String,
            setup: [String] = [],
            limit: Int = 8,
            mostWaiting: Int = 4_096,
            connectTimeout: Duration = .seconds(5)
        ) {
            self.conninfo = conninfo
            self.setup = setup
            self.limit = limit
            self.mostWaiting = mostWaiting
            self.connectTimeout = connectTimeout
        }
    }

    let configuration: Configuration
    private let loops: [EventLoop]
    private let table: ThreadLock<Table>

    /// A waiter is in the list exactly while `state` counts it.
    private struct Table {
        var state: PoolState
        var idle: [PGConnection] = []
        var waiters: [(deadline: ContinuousClock.Instant, continuation: CheckedContinuation<Grant, Never>)] = []
        /// When the next look for waiters whose time is up is due; nil while nobody waits.
        var nextLook: ContinuousClock.Instant?
        var nextLoop = 0

        /// The connection that was released last, of the caller's own loop if there is one: no other thread is woken then.
        mutating func takeIdle() -> PGConnection {
            idle.remove(at: idle.lastIndex { $0.loop.isCurrent } ?? idle.count - 1)
        }

        mutating func takeFirstWaiter() -> CheckedContinuation<Grant, Never> { waiters.removeFirst().continuation }

        mutating func dismissWaiters() -> [CheckedContinuation<Grant, Never>] {
            for _ in waiters { state.stoppedWaiting() }
            defer { waiters = [] }
            return waiters.map(\.continuation)
        }
    }

    /// What a caller is given.
    private enum Grant: Sendable {
        case connection(PGConnection)
        /// There is room: it opens one itself.
        case open
        /// A connection was lost while it waited: it asks again.
        case askAgain
        case nothing(PGError)
    }

    /// Opens nothing yet.
    package init(_ configuration: Configuration, on loops: [EventLoop]) {
        precondition(!loops.isEmpty, "a pool without a loop")
        self.configuration = configuration
        self.loops = loops
        table = ThreadLock(Table(state: PoolState(limit: configuration.limit, mostWaiting: configuration.mostWaiting)))
    }

    /// Whether PostgreSQL could be reached when that was last tried.
    package var isReachable: Bool { table.withLock { $0.state.isReachable } }

    package var counts: (idle: Int, leased: Int, waiting: Int) {
        table.withLock { ($0.state.idle, $0.state.leased + $0.state.opening, $0.state.waiting) }
    }

    /// Closes what is idle, and the rest as it comes back. Who waits is refused.
    package func shutdown() async {
        let (idle, waiters) = table.withLock { table in
            _ = table.state.shutDown()
            defer { table.idle = [] }
            return (table.idle, table.dismissWaiters())
        }
        for waiter in waiters { waiter.resume(returning: .nothing(.shutDown)) }
        for connection in idle { await connection.close() }
    }

    // MARK: - Lease and release

    /// A connection for the caller alone, until it gives it to ``release(_:)``. Prefer ``withConnection(by:_:)``.
    ///
    /// - Throws: ``PGError`` of kind busy at the deadline or when too many wait; unavailable while PostgreSQL is away.
    package func lease(by deadline: ContinuousClock.Instant) async throws(PGError) -> PGConnection {
        while true {
            guard ContinuousClock.now < deadline else { throw .poolBusy }
            switch await ask(by: deadline) {
            case .connection(let connection):
                if connection.health.state == .idle { return connection }
                // It was closed while it lay idle, as by the server's shutdown.
                await release(connection)
            case .open:
                if let connection = try await open(by: deadline) { return connection }
            case .askAgain: continue
            case .nothing(let error): throw error
            }
        }
    }

    /// Takes a connection back. One inside a transaction, or closed, is dropped.
    package func release(_ connection: PGConnection) async {
        let isUsable = connection.health.state == .idle
        let (waiter, mustClose): (CheckedContinuation<Grant, Never>?, Bool) = table.withLock { table in
            if table.state.released(isUsable: isUsable) { return (table.takeFirstWaiter(), false) }
            guard isUsable, !table.state.isShutDown else {
                // Its place is free: the first who waits may open another.
                guard table.state.waiting > 0 else { return (nil, true) }
                table.state.stoppedWaiting()
                return (table.takeFirstWaiter(), true)
            }
            table.idle.append(connection)
            return (nil, false)
        }
        waiter?.resume(returning: mustClose ? .askAgain : .connection(connection))
        if mustClose { await connection.close() }
    }

    private func ask(by deadline: ContinuousClock.Instant) async -> Grant {
        await withCheckedContinuation { continuation in
            let grant: Grant? = table.withLock { table in
                switch table.state.lease(now: .now) {
                case .takeIdle: return .connection(table.takeIdle())
                case .open: return .open
                case .refuse: return .nothing(table.state.isShutDown ? .shutDown : .poolBusy)
                case .backOff: return .nothing(PGError(.unavailable, "PostgreSQL cannot be reached"))
                case .wait:
                    table.waiters.append((deadline, continuation))
                    return nil
                }
            }
            if let grant { continuation.resume(returning: grant) } else { look(at: deadline) }
        }
    }

    /// Sees to it that waiters are looked through at `deadline`: one timer for all of them, not one each.
    private func look(at deadline: ContinuousClock.Instant) {
        let isNew = table.withLock { table in
            if let next = table.nextLook, next <= deadline { return false }
            table.nextLook = deadline
            return true
        }
        guard isNew else { return }
        let loop = loops[0]
        loop.perform { [weak self] in
            _ = loop.schedule(at: deadline) { self?.dismissLate(lookedAt: deadline) }
        }
    }

    private func dismissLate(lookedAt look: ContinuousClock.Instant) {
        let now = ContinuousClock.now
        let (late, next) = table.withLock { table in
            // An earlier look was ordered meanwhile, and orders the next.
            guard table.nextLook == look else {
                return ([] as [CheckedContinuation<Grant, Never>], nil as ContinuousClock.Instant?)
            }
            let late = table.waiters.filter { $0.deadline <= now }
            table.waiters.removeAll { $0.deadline <= now }
            for _ in late { table.state.stoppedWaiting() }
            table.nextLook = nil
            return (late.map(\.continuation), table.waiters.map(\.deadline).min())
        }
        for waiter in late { waiter.resume(returning: .nothing(.poolBusy)) }
        if let next { self.look(at: next) }
    }

    /// - Returns: Nil: the server has no room for it, and others of this pool are there to wait for.
    private func open(by deadline: ContinuousClock.Instant) async throws(PGError) -> PGConnection? {
        let connection: PGConnection
        while true {
            do throws(PGError) {
                connection = try await connect(by: deadline)
                break
            } catch {
                // A pooler without a free backend just does not answer.
                guard error.isTooManyConnections || error.kind == .deadline && hasConnections else {
                    let waiters = table.withLock { table in
                        table.state.openFailed(now: .now, jitter: .random(in: 0...1))
                        // With no connection left, nothing will be released to them.
                        return table.state.leased + table.state.opening == 0 ? table.dismissWaiters() : []
                    }
                    configuration.observe?(.connectFailed(error))
                    for waiter in waiters { waiter.resume(returning: .nothing(error)) }
                    throw error
                }
                configuration.observe?(.connectRefused(error))
                switch table.withLock({ $0.state.openRefused(now: .now, jitter: .random(in: 0...1)) }) {
                case .askAgain: return nil
                case .retry(let pause):
                    let next = ContinuousClock.now + pause
                    if next < deadline, (try? await Task.sleep(until: next, clock: .continuous)) != nil { continue }
                    giveUpOpening()
                    throw error
                }
            }
        }
        let isShutDown = table.withLock { table in
            table.state.opened()
            return table.state.isShutDown
        }
        configuration.observe?(.connected)
        guard isShutDown else { return connection }
        await release(connection)
        throw .shutDown
    }

    private var hasConnections: Bool { table.withLock { $0.state.idle + $0.state.leased > 0 } }

    private func connect(by deadline: ContinuousClock.Instant) async throws(PGError) -> PGConnection {
        let loop = table.withLock { table in
            table.nextLoop = (table.nextLoop + 1) % loops.count
            return loops[table.nextLoop]
        }
        return try await PGConnection.connect(
            configuration.conninfo,
            setup: configuration.setup,
            on: loop,
            by: min(deadline, .now + configuration.connectTimeout)
        )
    }

    /// The next who waits tries it in the caller's place.
    private func giveUpOpening() {
        let waiter: CheckedContinuation<Grant, Never>? = table.withLock { table in
            table.state.openGivenUp()
            guard table.state.waiting > 0 else { return nil }
            table.state.stoppedWaiting()
            return table.takeFirstWaiter()
        }
        waiter?.resume(returning: .askAgain)
    }
}

extension PGError {
    fileprivate static var poolBusy: PGError { PGError(.busy, "all database connections are in use") }
    fileprivate static var shutDown: PGError { PGError(.unavailable, "the pool is shut down") }
}
