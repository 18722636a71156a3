internal import CLinux
package import EventLoop
internal import Glibc
internal import Synchronization

/// Accepts connections and deals them to the loops in turn.
///
/// Accepting happens on the first loop. At the limit, or when the process is out of descriptors, connections wait in the
/// kernel's queue until one has ended.
package final class ServerListener: Sendable {
    package typealias Accepted = @Sendable (_ descriptor: Int32, _ place: ServerPlace, _ loop: EventLoop) -> Void

    /// As bound: with the port that the kernel chose for port 0.
    package let address: SocketAddress
    package var port: Int { address.port }

    private let acceptor: Acceptor

    /// Binds and listens.
    ///
    /// - Parameters:
    ///   - address: Port 0: any that is free.
    ///   - loops: At least one.
    ///   - maxConnections: Held by ``ServerPlace``s.
    ///   - accepted: Called on the loop given, which owns the non-blocking descriptor from there on.
    /// - Returns: The listener, which accepts until ``close()``.
    /// - Throws: ``EventLoopError`` when the address cannot be had.
    package static func start(
        on address: SocketAddress,
        loops: [EventLoop],
        maxConnections: Int = .max,
        accepted: @escaping Accepted
    ) async throws(EventLoopError) -> ServerListener {
        let (descriptor, bound) = try listen(on: address)
        let acceptor = Acceptor(descriptor, loops: loops, maxConnections: maxConnections, accepted: accepted)
        try await acceptor.start()
        return ServerListener(address: bound, acceptor: acceptor)
    }

    private init(address: SocketAddress, acceptor: Acceptor) {
        self.address = address
        self.acceptor = acceptor
    }

    /// Accepts no more and frees the port. Connections that were accepted live on.
    package func close() async {
        await acceptor.close()
    }

    private static func listen(on address: SocketAddress) throws(EventLoopError) -> (Int32, SocketAddress) {
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let descriptor = socket(address.family, kind, 0)
        guard descriptor >= 0 else { throw .system(call: "socket", code: errno) }
        var on: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
        var bound = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        var call = "bind"
        var result = address.withSockAddr { bind(descriptor, $0, $1) }
        if result == 0 {
            call = "listen"
            result = Glibc.listen(descriptor, 4096)
        }
        let name: SocketAddress? = withUnsafeMutablePointer(to: &bound) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                guard result == 0 else { return nil }
                call = "getsockname"
                result = getsockname(descriptor, pointer, &length)
                return SocketAddress(copying: pointer, length: length)
            }
        }
        guard result == 0, let name else {
            let code = errno
            Glibc.close(descriptor)
            throw .system(call: call, code: code)
        }
        return (descriptor, name)
    }
}

/// One of the connections that a listener allows at once; given back when it is let go.
package final class ServerPlace: Sendable {
    private let freed: @Sendable () -> Void

    fileprivate init(freed: @escaping @Sendable () -> Void) {
        self.freed = freed
    }

    deinit { freed() }
}

/// The listening descriptor, pinned to the first loop.
private actor Acceptor {
    /// Connections taken in one turn, so that a storm of them does not keep the loop from its other work.
    private static let mostAtOnce = 64
    /// The wait after the process ran out of descriptors.
    private static let retryDelay = Duration.milliseconds(100)

    private let descriptor: Int32
    private nonisolated let loops: [EventLoop]
    private let maxConnections: Int
    private let accepted: ServerListener.Accepted
    private var watch: Watch?
    private nonisolated let connections = Atomic<Int>(0)
    private nonisolated let isClosed = Atomic<Bool>(false)
    private var turn = 0

    nonisolated var unownedExecutor: UnownedSerialExecutor { loops[0].asUnownedSerialExecutor() }

    init(_ descriptor: Int32, loops: [EventLoop], maxConnections: Int, accepted: @escaping ServerListener.Accepted) {
        precondition(!loops.isEmpty, "a listener without a loop")
        self.descriptor = descriptor
        self.loops = loops
        self.maxConnections = maxConnections
        self.accepted = accepted
    }

    func start() throws(EventLoopError) {
        do throws(EventLoopError) {
            watch = try loops[0].watch(descriptor, for: .read) { [self] _ in assumeIsolated { $0.acceptAll() } }
        } catch {
            isClosed.store(true, ordering: .relaxed)
            Glibc.close(descriptor)
            throw error
        }
    }

    /// Ends the cycle of the watch's handler and this actor.
    func close() {
        guard !isClosed.exchange(true, ordering: .relaxed) else { return }
        if let watch { loops[0].unwatch(watch) }
        watch = nil
        Glibc.close(descriptor)
    }

    private func acceptAll() {
        for _ in 0..<Self.mostAtOnce {
            guard !isClosed.load(ordering: .relaxed) else { return }
            guard connections.load(ordering: .relaxed) < maxConnections else { return stopAccepting() }
            let flags = Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
            let connection = accept4(descriptor, nil, nil, flags)
            guard connection >= 0 else {
                switch errno {
                case EMFILE, ENFILE, ENOBUFS, ENOMEM: return acceptLater()
                case EAGAIN, EWOULDBLOCK: return
                // The peer gave up, or something of the network's: the next may be well.
                default: continue
                }
            }
            deal(connection)
        }
    }

    private func deal(_ connection: Int32) {
        connections.add(1, ordering: .relaxed)
        let place = ServerPlace { [weak self] in self?.placeFreed() }
        let loop = loops[turn % loops.count]
        turn &+= 1
        if loop === loops[0] { return accepted(connection, place, loop) }
        loop.perform { [accepted] in accepted(connection, place, loop) }
    }

    /// On any thread. A loop may be gone once its listener is closed.
    private nonisolated func placeFreed() {
        let left = connections.subtract(1, ordering: .relaxed).newValue
        guard left == maxConnections - 1, !isClosed.load(ordering: .relaxed) else { return }
        loops[0].perform { [self] in assumeIsolated { $0.goOnAccepting() } }
    }

    private func stopAccepting() {
        if let watch { loops[0].change(watch, to: []) }
    }

    private func goOnAccepting() {
        if let watch { loops[0].change(watch, to: .read) }
    }

    private func acceptLater() {
        stopAccepting()
        loops[0].schedule(at: .now + Self.retryDelay) { [weak self] in
            self?.assumeIsolated { $0.goOnAccepting() }
        }
    }
}
