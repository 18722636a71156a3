package import EventLoop

/// One client connection: socket, TLS, the HTTP/2 session and the streams on it. Belongs to one loop; its owner, which is
/// pinned to that loop, is told everything through ``HTTP2ClientHandlers``.
///
/// Requests are submitted into free slots and leave at the end of the turn, gathered. A slot is known by its number until
/// `ended` was called for it, exactly once.
package final class HTTP2ClientConnection {
    enum State {
        case opening  // TLS and ALPN. To: ready, closed.
        case ready  // To: closed.
        case closed
    }

    // What the other file of this type works on too is not private.
    let loop: EventLoop
    let isCleartext: Bool
    let configuration: HTTP2ClientConfiguration
    var handlers: HTTP2ClientHandlers?
    private var transport: Transport?
    var session: HTTP2Session
    var state = State.opening
    var slots: StreamSlots
    var streams = ClientStreamTable()
    var liveness: Liveness
    var busySince: ContinuousClock.Instant?
    var timer: TimerID?
    var timerInstant: ContinuousClock.Instant?
    let openDeadline: ContinuousClock.Instant
    /// Whether the peer's SETTINGS are waited for, and until when. Not one optional: it is asked for each request.
    var awaitsSettings = false
    var settingsDeadline = ContinuousClock.Instant.now
    var nextDeadline: ContinuousClock.Instant?
    private var isPumpScheduled = false
    private var gathering: Gathering
    private var isUrgent = false
    var gatheredUntil: ContinuousClock.Instant?
    private var isSubmitting = false
    private var departures = Departures()
    /// The connection was lost while a request was being submitted: it ends at the turn's end.
    private var lateEnd: (HTTP2Error, HTTP2EndCause)?
    /// Set before `closed` is called.
    package private(set) var endCause: HTTP2EndCause?

    /// Takes a connected descriptor over and begins the handshake.
    ///
    /// - Parameters:
    ///   - fd: Connected and non-blocking; ours from here on, also when this initialiser throws.
    ///   - tls: Without it HTTP/2 is spoken with prior knowledge.
    ///   - serverName: The name that the certificate must be for.
    ///   - loop: The caller runs on its thread.
    ///   - deadline: For the handshake.
    ///   - configuration: Limits and intervals.
    ///   - handlers: Not called before this initialiser has returned.
    /// - Throws: ``HTTP2Error/cannotConnect(_:)``.
    package init(
        adopting fd: Int32,
        tls: TLSContext?,
        serverName: String,
        loop: EventLoop,
        by deadline: ContinuousClock.Instant,
        configuration: HTTP2ClientConfiguration,
        handlers: HTTP2ClientHandlers
    ) throws(HTTP2Error) {
        self.loop = loop
        isCleartext = tls == nil
        self.configuration = configuration
        self.handlers = handlers
        openDeadline = deadline
        gathering = Gathering(tick: configuration.gathering)
        slots = StreamSlots(
            localLimit: configuration.streamLimit,
            firstRequestAlone: configuration.firstRequestAlone,
            startsSlowly: configuration.startsSlowly
        )
        liveness = Liveness(configuration.liveness, now: .now)
        do throws(HTTP2Error) {
            session = try HTTP2Session(
                wantedFields: configuration.wantedFields,
                wantedErrorFields: configuration.wantedErrorFields,
                maxBodyBytes: configuration.maxBodyBytes,
                firstNumber: configuration.firstStream
            )
        } catch {
            Connector.discard(fd)
            throw error
        }
        let transportHandlers = TransportHandlers(
            handshakeDone: { [unowned self] in handshakeDone(alpn: $0) },
            bytes: { [unowned self] in received($0) },
            writable: { [unowned self] in
                pump()
                self.handlers?.room()
            },
            departing: { [unowned self] in departures.depart(before: transport?.departedBytes ?? 0) },
            closed: { [unowned self] in
                end(.connectionLost($0.description), endCause(of: $0), handshakeFailed: "\($0)")
            }
        )
        do throws(TransportError) {
            transport = try Transport(
                adopting: fd,
                tls: tls,
                role: .client(serverName: serverName),
                loop: loop,
                handlers: transportHandlers
            )
        } catch {
            state = .closed
            throw .cannotConnect("\(error)")
        }
        transport?.ownerFlushes = true
        if tls == nil { schedule(at: .now) } else { schedule(at: deadline) }
    }

    deinit {
        precondition(state == .closed, "a connection was let go before it was closed")
    }

    // MARK: - State, for the owner

    /// Whether one more request with a body of this size would leave now, rather than wait for a limit or a window, and
    /// leave `reserve` free for others.
    package func canSubmit(bodyBytes: Int, leaving reserve: HTTP2Reserve = .none) -> Bool {
        guard isReady, lateEnd == nil, slots.available(leaving: reserve.streams) > 0, !session.isOver,
            let transport, transport.takesOutput, !transport.isBacklogged
        else { return false }
        // A window that never grows past one body must still let that body through.
        return slots.open == 0 || session.roomForBodies >= bodyBytes + reserve.windowBytes
    }

    // MARK: - Operations

    /// Submits a request; ``canSubmit(bodyBytes:)`` was true just before.
    ///
    /// - Parameters:
    ///   - template: The constant fields.
    ///   - values: The varying ones, copied.
    ///   - body: Sent as flow control lets it.
    ///   - deadline: For the whole exchange.
    ///   - witness: Is told before the request's bytes leave, by this number.
    /// - Returns: The request's slot.
    /// - Throws: ``HTTP2Error/notProcessed`` when the connection's stream numbers are used up; it drains from here on.
    package func submit(
        _ template: HTTP2RequestTemplate,
        _ values: borrowing HTTP2FieldValues,
        body: HTTP2Body?,
        deadline: ContinuousClock.Instant,
        witness: (any DepartureWitness, number: Int)? = nil
    ) throws(HTTP2Error) -> Int {
        let slot = streams.reserve()
        let firstByte = (transport?.writtenBytes ?? 0) + session.output.count
        let stream: Int32
        do throws(HTTP2Error) {
            stream = try session.submit(template, values, body: body, slot: slot)
        } catch {
            streams.close(slot)
            retire()
            throw .notProcessed
        }
        slots.opened()
        gathering.submitted()
        streams.open(slot, stream: stream, firstByte: firstByte, deadline: deadline)
        if let (witness, number) = witness { departures.watch(number, from: firstByte, by: witness) }
        if slots.open == 1 { becameBusy() }
        if nextDeadline.map({ deadline < $0 }) ?? true {
            nextDeadline = deadline
            schedule(at: deadline)
        }
        // A full record need not wait for the turn's end. The owner does not know the slot yet: should the connection turn out
        // to be lost, it is told at the turn's end.
        if session.output.count >= Transport.recordBytes {
            isSubmitting = true
            moveOutput()
            isSubmitting = false
        }
        schedulePump()
        return slot
    }

    /// What was submitted leaves at the end of this turn, whatever is being gathered: an urgent request is among it.
    package func flushSoon() {
        isUrgent = true
        schedulePump()
    }

    /// Gives a request up; its owner wants no end of it.
    package func cancel(_ slot: Int) {
        guard state == .ready, streams[slot].use == .open else { return }
        abandon(slot)
    }

    /// Opens no further streams, and closes when the open ones have ended.
    package func retire() {
        guard state != .closed, !slots.isDraining else { return }
        let action = slots.drain()
        handlers?.draining("")
        if action == .closeConnection { finish() }
    }

    /// Closes at once; open requests end as lost.
    ///
    /// - Parameter reason: For people.
    package func close(because reason: String = "closed by us") {
        end(.connectionLost(reason), .closedByUs, handshakeFailed: reason)
    }

    /// Asks the peer whether it still lives, unless it has been heard lately or is being asked already.
    ///
    /// - Returns: Whether it is known to live; otherwise ``HTTP2ClientHandlers/room`` is called when it has answered.
    package func probe(now: ContinuousClock.Instant) -> Bool {
        guard state == .ready else { return false }
        if liveness.used(now: now) { ping(now: now) }
        return !liveness.isAsked
    }

    // MARK: - Input

    private func handshakeDone(alpn: String?) {
        guard alpn == "h2" else {
            let reason = "the peer does not speak h2"
            return end(.cannotConnect(reason), .tls, handshakeFailed: reason)
        }
        becomeReady()
    }

    func becomeReady() {
        guard state == .opening else { return }
        state = .ready
        liveness.received(now: .now)
        cancelTimer()
        if configuration.settingsPatience > .zero {
            awaitsSettings = true
            settingsDeadline = .now + configuration.settingsPatience
            schedule(at: settingsDeadline)
        }
        checkLiveness(now: .now)
        schedulePump()
        handlers?.ready()
    }

    private func received(_ bytes: UnsafeRawBufferPointer) {
        if isCleartext { becomeReady() }
        guard state == .ready else { return }
        session.receive(bytes)
        liveness.received(now: .now)
        if session.hasPeerSettings { awaitsSettings = false }
        performActions()
        guard state == .ready else { return }
        schedulePump()
        handlers?.room()
    }

    private func performActions() {
        let actions = session.takeActions()
        for action in actions { perform(action) }
        session.recycle(actions)
    }

    private func perform(_ action: PeerAction) {
        guard state == .ready else { return }
        switch action {
        case .closedStream(let slot, let errorCode): streamClosed(slot, errorCode: errorCode)
        case .settings: slots.settingsReceived(streamLimit: session.remoteStreamLimit)
        case .goAway:
            // The session closes the streams above the last one itself, as refused.
            let action = slots.drain()
            handlers?.draining(session.goAwayText)
            if action == .closeConnection { finish() }
        }
    }

    private func streamClosed(_ slot: Int, errorCode: UInt32) {
        let response = session.takeResponse(slot: slot)
        let use = streams[slot].use
        streams.close(slot)
        let isAnswered = errorCode == 0 && response.status >= 200
        let action = slots.ended(
            isAnswered
                ? .answered(provesAccess: response.status != 401 && response.status != 403)
                : errorCode == HTTP2ErrorCode.refusedStream ? .refused : .other
        )
        if slots.open == 0 { busySince = nil }
        if use == .open {
            let end: HTTP2StreamEnd =
                if isAnswered { .answered } else if let violation = response.violation {
                    .malformed(violation)
                } else if errorCode == HTTP2ErrorCode.refusedStream { .notProcessed } else { .reset(code: errorCode) }
            handlers?.ended(slot, end, response)
        }
        if action == .closeConnection, state == .ready { finish() }
    }

    // MARK: - Output

    func schedulePump() {
        guard !isPumpScheduled else { return }
        isPumpScheduled = true
        loop.atEndOfTurn { [weak self] in
            guard let self else { return }
            isPumpScheduled = false
            pump()
        }
    }

    /// Moves frames from the session to the transport until one of them has no more.
    func pump() {
        guard state == .ready, let transport else { return }
        moveOutput()
        flush(transport)
        // Streams that we reset, or whose last bytes went out behind the answer, have ended by that.
        if !session.actions.isEmpty {
            performActions()
            handlers?.room()
        }
        if state == .ready, session.isOver {
            let rule = session.violation.map { ": \($0)" } ?? ""
            end(.connectionLost("the peer broke the protocol\(rule)"), .protocolError, handshakeFailed: nil)
        }
    }

    /// Full records have left by now; the rest may be worth a moment.
    private func flush(_ transport: Transport) {
        guard transport.pendingBytes > 0 else {
            isUrgent = false
            return
        }
        let now = ContinuousClock.now
        switch isUrgent ? .now : gathering.decide(now: now) {
        case .now:
            if isUrgent { gathering.left(now: now) }
            isUrgent = false
            gatheredUntil = nil
            transport.flush()
        case .at(let instant):
            transport.flushRecords()
            gatheredUntil = instant
            schedule(at: instant)
        }
    }

    private func moveOutput() {
        guard let transport else { return }
        while !transport.isBacklogged {
            session.sendBodies()
            guard !session.output.isEmpty else { break }
            session.output.withFront(.max >> 1) { transport.write($0) }
            session.output.removeFirst(session.output.count)
        }
    }

    // MARK: - The end

    /// A drained connection says goodbye.
    private func finish() {
        guard state == .ready, let transport else { return }
        session.submitGoAway()
        moveOutput()
        state = .closed
        endCause = .drained
        cancelTimer()
        transport.closeAfterWriting()
        let closed = handlers?.closed
        handlers = nil
        closed?(nil)
    }

    private func endCause(of reason: TransportCloseReason) -> HTTP2EndCause {
        if state == .opening { return .tls }
        if case .tls(.renegotiationAsked) = reason { return .protocolError }
        return .peerClosed
    }

    private func endLater(_ error: HTTP2Error, _ cause: HTTP2EndCause) {
        guard lateEnd == nil else { return }
        lateEnd = (error, cause)
        loop.atEndOfTurn { [self] in
            if let (error, cause) = lateEnd { end(error, cause, handshakeFailed: nil) }
        }
    }

    func end(_ error: HTTP2Error, _ cause: HTTP2EndCause, handshakeFailed reason: String?) {
        guard state != .closed else { return }
        guard !isSubmitting else { return endLater(error, cause) }
        endCause = cause
        let error = state == .opening ? HTTP2Error.cannotConnect(reason ?? "\(error)") : error
        state = .closed
        cancelTimer()
        transport?.close()
        let departed = transport?.departedBytes ?? 0
        let handlers = handlers
        self.handlers = nil
        for slot in streams.indices where streams[slot].use == .open {
            streams.abandon(slot)
            let isWhole = streams[slot].firstByte < departed && !session.hasUnsentBody(slot)
            handlers?.ended(slot, isWhole ? .lost : .notSent, session.response(of: slot))
        }
        handlers?.closed(error)
    }
}
