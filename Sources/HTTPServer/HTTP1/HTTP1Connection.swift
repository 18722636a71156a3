internal import EventLoop
internal import HTTP2

/// A connection that speaks HTTP/1.1: one request at a time, the next one when the answer is on its way.
actor HTTP1Connection {
    private enum State {
        case open  // To: lingering, closed.
        case lingering  // The last answer is written; what still comes is dropped. To: closed.
        case closed
    }

    /// The request that is being answered.
    enum Handling {
        case whole(task: Task<Void, Never>, isHead: Bool, keepsAlive: Bool)
        case stream(HTTP1Exchange)
    }

    /// Read ahead of the request that is being answered: enough to see a client leave, and no more.
    private static let mostReadAhead = 64 << 10
    /// A client that is refused in the middle of its body gets so long to stop and read why.
    private static let linger = Duration.seconds(5)

    nonisolated let loop: EventLoop
    let core: ServerCore
    private let place: ServerPlace
    let transport: Transport
    var parser: HTTP1RequestParser
    private var state = State.open
    var handling: Handling?
    private(set) var isDraining = false
    /// The client has shut down its side: what it has sent is answered, if it is soon.
    private(set) var isInputOver = false
    private let readTimer: ServerDeadline
    private var timedPhase: HTTP1RequestParser.Phase?
    private let writeTimer: ServerDeadline
    private var written = 0
    /// How much of it the client had taken at the last look; `nil` while nothing waits.
    private var taken: Int?

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// Takes an open transport over. On the loop's thread.
    static func begin(
        on transport: Transport,
        read: UnsafeRawBufferPointer,
        place: ServerPlace,
        loop: EventLoop,
        core: ServerCore
    ) {
        // Unsafe because the compiler does not know that the caller and the actor share the loop's thread.
        nonisolated(unsafe) let (transport, read) = (transport, read)
        let connection = HTTP1Connection(transport, place: place, loop: loop, core: core)
        connection.assumeIsolated { connection in
            connection.begin()
            connection.received(read)
        }
    }

    private init(_ transport: sending Transport, place: ServerPlace, loop: EventLoop, core: ServerCore) {
        self.transport = transport
        self.place = place
        self.loop = loop
        self.core = core
        parser = HTTP1RequestParser(
            limits: core.limits,
            scheme: core.configuration.tls == nil ? "http" : "https",
            streamLimit: { core.streamRoute($0)?.maxBodyBytes }
        )
        readTimer = ServerDeadline(loop: loop)
        writeTimer = ServerDeadline(loop: loop)
    }

    isolated deinit {
        // Closed long since: the transport's handlers held us until then.
        transport.close()
    }

    private func begin() {
        transport.replaceHandlers(
            TransportHandlers(
                handshakeDone: { _ in },
                bytes: { [self] bytes in
                    // Unsafe because the compiler does not know that the transport calls on the loop's thread.
                    nonisolated(unsafe) let bytes = bytes
                    assumeIsolated { $0.received(bytes) }
                },
                writable: { [self] in assumeIsolated { $0.goOn() } },
                inputEnded: { [self] in assumeIsolated { $0.inputEnded() } },
                closed: { [self] _ in assumeIsolated { $0.close() } }
            )
        )
        readTimer.handler = { [weak self] in self?.assumeIsolated { $0.readDeadlinePassed() } }
        writeTimer.handler = { [weak self] in self?.assumeIsolated { $0.checkOutput() } }
        core.registry.add(
            self,
            .init(
                drain: { [loop, self] in loop.perform { self.assumeIsolated { $0.drain() } } },
                abort: { [loop, self] in loop.perform { self.assumeIsolated { $0.close() } } }
            )
        )
    }

    var isOpen: Bool { state == .open }

    // MARK: - Requests

    private func received(_ bytes: UnsafeRawBufferPointer) {
        guard state == .open else { return }
        parser.append(bytes)
        goOn()
    }

    /// Takes the next request if the last one is answered and its answer is on its way, or goes on with a streamed one.
    func goOn() {
        if case .stream = handling { goOnStreaming() }
        while state == .open, handling == nil, !transport.isBacklogged, let event = parser.next() {
            switch event {
            case .continueExpected: send(HTTP1ResponseSerializer.continueLine)
            case .request(let request, let keepsAlive): handle(request, keepsAlive: keepsAlive)
            case .streamBegan(let head): stream(head)
            case .refused(let refusal): refuse(refusal)
            case .bodyPart, .bodyEnded: preconditionFailure("a body without its exchange")
            }
        }
        guard state == .open else { return }
        if handling == nil, isInputOver || (isDraining && parser.phase == .idle) { return finish() }
        if parser.bufferedBytes > Self.mostReadAhead { transport.pauseReading() } else { transport.resumeReading() }
        setReadDeadline()
    }

    private func handle(_ request: HTTPRequest, keepsAlive: Bool) {
        let task = core.handle(request, on: loop) { [weak self] response in await self?.answer(response) }
        handling = .whole(task: task, isHead: request.method == "HEAD", keepsAlive: keepsAlive)
    }

    private func answer(_ response: HTTPResponse) {
        guard state == .open, case .whole(_, let isHead, let keepsAlive) = handling else { return }
        handling = nil
        let closes = !keepsAlive || isDraining
        write(response, isHead: isHead, closes: closes)
        if closes { finish() } else { goOn() }
    }

    func refuse(_ refusal: HTTPRefusal) {
        write(core.configuration.refuse(refusal), isHead: false, closes: true)
        lingerOn()
    }

    func write(_ response: HTTPResponse, isHead: Bool, closes: Bool) {
        var output: [UInt8] = []
        HTTP1ResponseSerializer.append(response, isHead: isHead, closes: closes, date: core.date, to: &output)
        send(output)
    }

    func send(_ bytes: [UInt8]) {
        transport.write(bytes)
        written += bytes.count
        watchOutput()
    }

    // MARK: - Deadlines

    /// One deadline a phase, from its beginning: bytes that trickle in do not move it.
    private func setReadDeadline() {
        guard case .none = handling else {
            if case .whole = handling { stopReadDeadline() }
            return
        }
        let phase = parser.phase
        guard phase != timedPhase else { return }
        timedPhase = phase
        readTimer.cancel()
        switch phase {
        case .idle: readTimer.set(.now + core.limits.idleDeadline)
        case .head: readTimer.set(.now + core.limits.headerDeadline)
        case .body: readTimer.set(.now + core.limits.bodyDeadline)
        case .ended: break
        }
    }

    func stopReadDeadline() {
        timedPhase = nil
        readTimer.cancel()
    }

    /// For a streamed body: how long its handler may still wait for more of it.
    func setReadDeadline(after duration: Duration) {
        timedPhase = .body
        readTimer.set(.now + duration)
    }

    private func readDeadlinePassed() {
        guard state == .open, timedPhase != .idle else { return close() }
        let refusal = HTTPRefusal(408, "the request did not come in time")
        if case .stream = handling { failStream(refusal) } else { refuse(refusal) }
    }

    /// Begins to watch whether the client takes what waits for it.
    private func watchOutput() {
        guard taken == nil, transport.pendingBytes > 0 else { return }
        taken = written - transport.pendingBytes
        writeTimer.set(.now + core.limits.writeDeadline)
    }

    /// Lets a client go that has taken nothing since the last look.
    private func checkOutput() {
        let before = taken
        taken = nil
        guard transport.pendingBytes > 0 else { return }
        if written - transport.pendingBytes == before { return close() }
        watchOutput()
    }

    // MARK: - Ending

    private func drain() {
        isDraining = true
        goOn()
    }

    /// Ends when the last answer has gone out. The request was read whole: nothing is left to reset the connection.
    func finish() {
        state = .lingering
        readTimer.cancel()
        transport.closeAfterWriting { [self] in assumeIsolated { $0.close() } }
    }

    /// Ends while the rest of a request may be on its way: closed now, the connection would be reset, and the answer lost.
    /// So our side ends at once, and what still comes is dropped until the client has seen that (RFC 9112, 9.6).
    func lingerOn() {
        if isInputOver { return finish() }
        state = .lingering
        transport.endOutput()
        transport.resumeReading()
        readTimer.set(.now + Self.linger)
    }

    /// A client that has gone looks the same as one that only sends nothing more: it gets a moment for its answer.
    ///
    /// - Returns: false: nothing is owed.
    private func inputEnded() -> Bool {
        isInputOver = true
        switch (state, handling) {
        case (.closed, _): return false
        case (.lingering, _), (.open, nil): finish()
        case (.open, .whole):
            timedPhase = .idle
            readTimer.set(.now + Self.linger)
        case (.open, .stream): goOn()
        }
        return true
    }

    func close() {
        guard state != .closed else { return }
        state = .closed
        readTimer.cancel()
        writeTimer.cancel()
        switch handling {
        case .whole(let task, _, _): task.cancel()
        case .stream(var exchange): exchange.cancel()
        case nil: break
        }
        handling = nil
        transport.close()
        core.registry.remove(self)
    }
}
