import EventLoop
import Glibc
import HTTP2

/// The socket of a lean listener's connection: moves bytes between a ``LeanSession`` and the wire. Belongs to its loop.
final class LeanConnection {
    /// A peer gets so long to read our last bytes and close.
    private static let linger = Duration.seconds(1)

    private let descriptor: Int32
    private let transport: Transport
    private var session: LeanSession
    private var outgoing = LeanOutput()
    private let loop: EventLoop
    private let sink: LeanSink
    private let delay: DelayLine?
    /// Called once, at the end.
    private let ended: (LeanConnection) -> Void
    /// Nothing goes out before: SETTINGS that come late.
    private var isHeld = false
    private var isLingering = false
    private var isClosed = false

    /// Begins on a connected, non-blocking descriptor, which it owns from here on. Call on the loop's thread.
    ///
    /// - Throws: ``TransportError`` when TLS or the loop cannot take the descriptor; it is closed then.
    init(
        adopting descriptor: Int32,
        tls: TLSContext,
        on loop: EventLoop,
        sink: LeanSink,
        _ settings: LeanSettings,
        ended: @escaping (LeanConnection) -> Void
    ) throws(TransportError) {
        self.descriptor = descriptor
        self.loop = loop
        self.sink = sink
        self.ended = ended
        session = LeanSession(settings.session, sink: sink)
        let none = TransportHandlers(handshakeDone: { _ in }, bytes: { _ in }, writable: {}, closed: { _ in })
        let transport = try Transport(adopting: descriptor, tls: tls, role: .server, loop: loop, handlers: none)
        self.transport = transport
        delay = settings.outputDelay.map { DelayLine(delay: $0, loop: loop) { transport.write($0) } }
        transport.replaceHandlers(
            TransportHandlers(
                handshakeDone: { [self] _ in write() },
                bytes: { [self] in receive($0) },
                writable: { transport.resumeReading() },
                closed: { [self] _ in close() }
            )
        )
        if let time = settings.settingsDelay {
            isHeld = true
            loop.schedule(at: .now + time) { [weak self] in
                self?.isHeld = false
                self?.write()
            }
        }
    }

    /// Closes at once; what was not yet written is lost.
    func close() {
        guard !isClosed else { return }
        isClosed = true
        session.connectionClosed()
        sink.take(&session.tally)
        delay?.cancel()
        transport.close()
        ended(self)
    }

    // MARK: - Reading and writing

    private func receive(_ bytes: UnsafeRawBufferPointer) {
        guard !isLingering else { return }
        session.receive(bytes)
        act()
    }

    private func act() {
        sink.take(&session.tally)
        write()
        guard session.wishes.isEmpty else { return grantWishes() }
        if session.state == .over { finish() }
    }

    private func write() {
        guard !session.output.isEmpty, !isHeld, !isClosed else { return }
        if session.isDeaf { return session.output.removeAll() }
        // Out of the session first: the transport may find the peer gone, and end us while it writes.
        swap(&session.output, &outgoing)
        outgoing.take { if let delay { delay.write($0) } else { transport.write($0) } }
        // A client that reads no answers is asked for no more pushes.
        if transport.isBacklogged { transport.pauseReading() }
    }

    private func grantWishes() {
        let wishes = session.wishes
        session.wishes.removeAll(keepingCapacity: true)
        for wish in wishes {
            switch wish {
            case .settle(let stream, let fault, let time):
                loop.schedule(at: .now + time) { [weak self] in self?.later { $0.settle(stream, fault) } }
            case .unpin(let number, let time):
                loop.schedule(at: .now + time) { [weak self] in self?.later { $0.unpin(number) } }
            case .close:
                guard let delay else {
                    // Answers that were counted reach the kernel first.
                    transport.flush()
                    return close()
                }
                isLingering = true
                loop.schedule(at: .now + delay.delay) { [weak self] in self?.close() }
                return
            case .reset:
                resetWhenClosed(descriptor)
                return close()
            }
        }
        if session.state == .over { finish() }
    }

    private func later(_ body: (inout LeanSession) -> Void) {
        guard !isClosed, !isLingering else { return }
        body(&session)
        act()
    }

    /// Something befalls the connection without a request.
    func disturb(_ action: FaultAction) { later { $0.disturb(action) } }

    // MARK: - Ending

    /// Lets the peer read what was written, GOAWAY included, before the connection goes: a close with unread input would
    /// reset it, and the peer could lose our last bytes.
    private func finish() {
        guard !isLingering, !isClosed else { return }
        isLingering = true
        loop.schedule(at: .now + Self.linger + (delay?.delay ?? .zero)) { [weak self] in self?.close() }
    }
}

/// How a lean listener treats its connections.
struct LeanSettings: Sendable {
    var session = LeanSession.Settings()
    var outputDelay: Duration?
    var settingsDelay: Duration?

    init(_ configuration: SimulatorConfiguration) {
        session.initialStreams = configuration.initialStreams
        session.fullStreams = configuration.maxConcurrentStreams
        session.lowersOnRejection = configuration.lowersStreamLimit
        if configuration.roundTrip > .zero { outputDelay = configuration.roundTrip }
    }
}

/// Makes the next close of a socket a TCP reset.
func resetWhenClosed(_ descriptor: Int32) {
    var option = linger(l_onoff: 1, l_linger: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
}
