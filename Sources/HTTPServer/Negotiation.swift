internal import EventLoop
internal import HTTP2

/// A new connection until it is known which HTTP it speaks: by ALPN, or without TLS by its first bytes.
actor Negotiation {
    /// The part of HTTP/2's preface that no HTTP/1.1 request begins with (RFC 9113, 3.4).
    private static let preface = Array("PRI * HTTP/2.0\r\n".utf8)

    private nonisolated let loop: EventLoop
    private let core: ServerCore
    private let place: ServerPlace
    private let timer: ServerDeadline
    private var transport: Transport?
    private var read: [UInt8] = []

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// Takes the descriptor over. On the loop's thread.
    static func begin(_ descriptor: Int32, place: ServerPlace, loop: EventLoop, core: ServerCore) {
        let negotiation = Negotiation(place: place, loop: loop, core: core)
        negotiation.assumeIsolated { $0.begin(descriptor) }
    }

    private init(place: ServerPlace, loop: EventLoop, core: ServerCore) {
        self.place = place
        self.loop = loop
        self.core = core
        timer = ServerDeadline(loop: loop)
    }

    /// A descriptor that TLS or epoll does not take is closed, and that is all there is to do about it.
    private func begin(_ descriptor: Int32) {
        let handlers = TransportHandlers(
            handshakeDone: { [self] alpn in assumeIsolated { $0.settled(isHTTP2: alpn == "h2") } },
            bytes: { [self] bytes in
                // Unsafe because the compiler does not know that the transport calls on the loop's thread.
                nonisolated(unsafe) let bytes = bytes
                assumeIsolated { $0.received(bytes) }
            },
            writable: {},
            closed: { [self] _ in assumeIsolated { $0.close() } }
        )
        transport = try? Transport(
            adopting: descriptor,
            tls: core.configuration.tls,
            role: .server,
            loop: loop,
            handlers: handlers
        )
        guard transport != nil else { return }
        let close: @Sendable () -> Void = { [loop, self] in loop.perform { self.assumeIsolated { $0.close() } } }
        core.registry.add(self, .init(drain: close, abort: close))
        timer.handler = { [weak self] in self?.assumeIsolated { $0.close() } }
        timer.set(.now + core.limits.handshakeDeadline)
    }

    private func received(_ bytes: UnsafeRawBufferPointer) {
        read.append(contentsOf: bytes)
        let isPrefix = Self.preface.starts(with: read.prefix(Self.preface.count))
        if isPrefix, read.count < Self.preface.count { return }
        settled(isHTTP2: isPrefix)
    }

    /// Hands the transport on, with what was read of it.
    private func settled(isHTTP2: Bool) {
        guard let transport else { return }
        self.transport = nil
        timer.cancel()
        read.withUnsafeBytes { read in
            if isHTTP2 {
                HTTP2Requests.begin(on: transport, read: read, place: place, loop: loop, core: core)
            } else {
                HTTP1Connection.begin(on: transport, read: read, place: place, loop: loop, core: core)
            }
        }
        core.registry.remove(self)
    }

    private func close() {
        timer.cancel()
        transport?.close()
        transport = nil
        core.registry.remove(self)
    }
}
