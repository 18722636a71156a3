package import EventLoop

/// A server's end of an HTTP/2 connection, pinned to its loop, with every frame under the owner's control.
///
/// What the peer does goes to the ``HTTP2ServerHooks`` at once, on the loop. Requests that come in the same bytes are
/// answered in the same write. After GOAWAY the connection ends with its last stream.
package actor HTTP2ServerConnection {
    /// How a connection plays dead, for tests of the other end.
    package enum Silence: Sendable {
        case off
        /// Bytes are taken and dropped; nothing is written, no SETTINGS or PING acknowledged.
        case deaf
    }

    enum State {
        case open  // To: lingering, closed.
        case lingering  // All is written; what the peer still sends is dropped until it closes. To: closed.
        case closed
    }

    package nonisolated let loop: EventLoop
    let configuration: HTTP2ServerConfiguration
    let transport: Transport
    let hooks: any HTTP2ServerHooks
    var session: HTTP2ServerSession
    var flood: ServerFloodGuard
    var state = State.open
    package var silence = Silence.off

    /// Parsing or writing: what a hook submits meanwhile is written afterwards.
    private var isBusy = false
    var delayed: DelayLine?
    /// Nothing goes out yet: SETTINGS that come late.
    private var isHeld = false
    var timer: ServerDeadline
    var drain = Drain.no
    /// Why nothing more is said, while the connection lingers.
    private var finished: HTTP2ServerCloseReason?
    /// Bytes handed to the transport, ever; and when the peer was last seen to take some.
    var written = 0
    var progress = ServerProgress()

    enum Drain {
        case no
        case noticed  // The first GOAWAY is out; the second follows the PING's acknowledgement.
        case final
    }

    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// Begins HTTP/2 on a connected, non-blocking descriptor, which it owns from here on. Call on the loop's thread.
    ///
    /// - Throws: ``TransportError`` when TLS or the loop cannot take the descriptor; it is closed then.
    @discardableResult
    package static func start(
        adopting descriptor: Int32,
        tls: TLSContext?,
        loop: EventLoop,
        configuration: HTTP2ServerConfiguration,
        hooks: sending any HTTP2ServerHooks
    ) throws(TransportError) -> HTTP2ServerConnection {
        // The handlers are replaced below; none is called before this function returns.
        let none = TransportHandlers(handshakeDone: { _ in }, bytes: { _ in }, writable: {}, closed: { _ in })
        let transport = try Transport(adopting: descriptor, tls: tls, role: .server, loop: loop, handlers: none)
        return start(takingOver: transport, loop: loop, configuration: configuration, hooks: hooks)
    }

    /// Begins HTTP/2 on a transport that is open already. Call on the loop's thread, and pass on what was read before.
    package static func start(
        takingOver transport: Transport,
        read: UnsafeRawBufferPointer = .init(start: nil, count: 0),
        loop: EventLoop,
        configuration: HTTP2ServerConfiguration,
        hooks: sending any HTTP2ServerHooks
    ) -> HTTP2ServerConnection {
        loop.checkIsolated()
        // Unsafe because the compiler does not know that the caller and the actor share the loop's thread.
        nonisolated(unsafe) let transport = transport
        let connection = HTTP2ServerConnection(transport, loop: loop, configuration: configuration, hooks: hooks)
        // Unsafe likewise: the bytes are used during the call only.
        nonisolated(unsafe) let read = read
        connection.assumeIsolated { connection in
            connection.begin()
            if !read.isEmpty { connection.receive(read) }
        }
        return connection
    }

    private init(
        _ transport: sending Transport,
        loop: EventLoop,
        configuration: HTTP2ServerConfiguration,
        hooks: sending any HTTP2ServerHooks
    ) {
        self.loop = loop
        self.configuration = configuration
        self.transport = transport
        self.hooks = hooks
        session = HTTP2ServerSession(configuration: configuration)
        flood = ServerFloodGuard(configuration.flood)
        timer = ServerDeadline(loop: loop)
        delayed = configuration.outputDelay.map { DelayLine(delay: $0, loop: loop) { transport.write($0) } }
    }

    isolated deinit {
        // Closed long since: the transport's handlers held us until then.
        transport.close()
    }

    /// Installs the handlers, which keep the connection alive until the transport is closed, and sends SETTINGS.
    private func begin() {
        transport.replaceHandlers(
            TransportHandlers(
                handshakeDone: { [self] _ in assumeIsolated { $0.pump() } },
                bytes: { [self] bytes in
                    // Unsafe because the compiler does not know that the transport calls on the loop's thread.
                    nonisolated(unsafe) let bytes = bytes
                    assumeIsolated { $0.receive(bytes) }
                },
                writable: { [self] in assumeIsolated { $0.pump() } },
                closed: { [self] reason in assumeIsolated { $0.end(.transport(reason)) } }
            )
        )
        startDeadlines()
        if let time = configuration.settingsDelay {
            isHeld = true
            loop.schedule(at: .now + time) { [weak self] in
                self?.assumeIsolated { connection in
                    connection.isHeld = false
                    connection.pump()
                }
            }
        }
        pump()
    }

    // MARK: - Reading

    private func receive(_ bytes: UnsafeRawBufferPointer) {
        guard state == .open, silence == .off else { return }
        let record = session.record
        record.pointee.now = .now
        isBusy = true
        let isSound = session.receive(bytes)
        act()
        isBusy = false
        guard state == .open else { return }
        guard isSound else {
            pump()
            return finish(.protocolBroken)
        }
        guard isWithinFloodLimits(record) else {
            // ENHANCE_YOUR_CALM
            session.goAway(lastStream: session.lastStream, code: 0xB, debug: Array("too many control frames".utf8))
            pump()
            return finish(.flood)
        }
        progress.activity = record.pointee.now
        pump()
    }

    private func isWithinFloodLimits(_ record: UnsafeMutablePointer<ServerRecord>) -> Bool {
        let (resets, controls) = (record.pointee.peerResets, record.pointee.controlFrames)
        guard resets > 0 || controls > 0 else { return true }
        (record.pointee.peerResets, record.pointee.controlFrames) = (0, 0)
        return flood.add(resets: resets, controls: controls, at: record.pointee.now)
    }

    /// Passes what the callbacks recorded to the hooks. Hooks may cause further actions.
    private func act() {
        let record = session.record
        var next = 0
        while next < record.pointee.actions.count, state == .open {
            let action = record.pointee.actions[next]
            next += 1
            switch action {
            case .request(let stream):
                if record.pointee.isStreamed(stream: stream) {
                    // Its end came in the same bytes as its head, before it was known to be streamed.
                    hooks.bodyArrived(on: stream, of: self)
                } else if let request = record.pointee.take(stream: stream) {
                    hooks.requestReceived(request, on: stream, of: self)
                }
            case .head(let stream):
                guard let request = record.pointee.incoming[stream]?.request else { continue }
                let limit = hooks.streamLimit(request, on: stream, of: self)
                session.credit(stream: stream, record.pointee.decide(stream: stream, streamLimit: limit))
                if limit != nil { hooks.bodyArrived(on: stream, of: self) }
            case .body(let stream): hooks.bodyArrived(on: stream, of: self)
            case .drained(let stream): hooks.answerHasRoom(on: stream, of: self)
            case .oversize(let stream, let status, let excess):
                hooks.requestRefused(status: status, excess: excess, on: stream, of: self)
            case .closed(let stream, let code): hooks.streamClosed(stream, code: code, of: self)
            case .refused(let stream, let acknowledged):
                hooks.streamRefused(stream, acknowledged: acknowledged, of: self)
                if acknowledged, let overLimit = configuration.overLimit {
                    endOverLimit(overLimit.code, Array(overLimit.debug.utf8))
                }
            case .pingAcknowledged: if drain == .noticed { finalGoAway() }
            }
        }
        record.pointee.actions.removeAll(keepingCapacity: true)
    }

    /// Ends the connection with a GOAWAY of ours in the place of nghttp2's, behind what it has to say before.
    private func endOverLimit(_ code: UInt32, _ debug: [UInt8]) {
        guard state == .open else { return }
        while let bytes = session.nextOutput(), bytes.count < 9 || bytes[3] != 7 { write(bytes) }
        let numbers = [UInt32(bitPattern: session.lastStream), code].flatMap { number in
            (0..<4).map { UInt8(truncatingIfNeeded: number >> UInt32(24 - 8 * $0)) }
        }
        let length = numbers.count + debug.count
        let frame =
            [0, UInt8(truncatingIfNeeded: length >> 8), UInt8(truncatingIfNeeded: length), 7] + [0, 0, 0, 0, 0]
        (frame + numbers + debug).withUnsafeBytes { write($0) }
        finish(.done)
    }

    /// Tells the hooks to refuse a request that did not come in time.
    func refuse(stream: Int32, status: Int) {
        session.record.pointee.forget(stream: stream)
        session.record.pointee.discard(stream: stream)
        hooks.requestRefused(status: status, excess: nil, on: stream, of: self)
        pump()
    }

    // MARK: - Writing

    /// Moves what nghttp2 has to say to the transport, as far as there is room.
    func pump() {
        guard state == .open, silence == .off, !isBusy, !isHeld else { return }
        isBusy = true
        var goesOn = true
        while goesOn, state == .open {
            while !transport.isBacklogged, let bytes = session.nextOutput() {
                write(bytes)
            }
            goesOn = !session.record.pointee.actions.isEmpty
            act()
        }
        isBusy = false
        if state == .open, session.isDone { finish(.done) }
    }

    /// Hands whole frames on.
    func write(_ bytes: UnsafeRawBufferPointer) {
        written += bytes.count
        if let delayed { delayed.write(bytes) } else { transport.write(bytes) }
    }

    // MARK: - Ending

    /// Lets the peer read what was written, GOAWAY included, before the connection goes: a close with unread input
    /// would reset it, and the peer could lose our last bytes.
    func finish(_ reason: HTTP2ServerCloseReason) {
        guard state == .open else { return }
        state = .lingering
        finished = reason
        // What is delayed is written later.
        if delayed == nil { transport.endOutput() }
        lingerDeadline()
    }

    func end(_ reason: HTTP2ServerCloseReason) {
        guard state != .closed else { return }
        state = .closed
        timer.cancel()
        transport.close()
        delayed?.cancel()
        hooks.connectionClosed(finished ?? reason, of: self)
    }
}
