package import EventLoop

/// A connected, non-blocking descriptor, with TLS or without. Belongs to one loop; not for other threads.
///
/// Writes of a turn are gathered: many small frames make one TLS record (16 KB), and up to three records one system call;
/// the rest leaves at the end of the turn. Reads of a turn are capped, so that a busy peer does not starve its
/// neighbours on the loop. Closing is immediate; `closeAfterWriting()` waits for what was written, and `endOutput()` ends our
/// side alone. What a peer had sent before it went away is read first.
package final class Transport {
    /// A TLS record's payload at most (RFC 8446, 5.1).
    static let recordBytes = 16 * 1024
    /// From here on the owner should hold its writes back until `writable`.
    static let backlogBytes = 4 * recordBytes
    /// Records leave by so many bytes: enough to spare system calls, few enough to stay in the cache.
    private static let sendBytes = 3 * recordBytes
    private static let readsPerTurn = 4

    enum State {
        case handshaking  // To: open, closed.
        case open  // To: finishing, closed.
        case finishing  // What was written goes out, nothing more comes in. To: closed.
        case closed
    }

    let loop: EventLoop
    let socket: PlainSocket
    var tls: TLSSession?
    var handlers: TransportHandlers?
    var state: State
    var watch: Watch?
    private var interest: Interest = .read
    private var output = WriteBuffer(capacity: 2 * recordBytes)
    /// With TLS, what is made of `output`.
    let sealed: TLSOutput?
    private let input: UnsafeMutableRawBufferPointer
    private var isFlushScheduled = false
    private var isBlocked = false  // The kernel's buffer is full; epoll will tell.
    private var owesWritable = false
    private var isReadingPaused = false
    private var isInputOver = false
    var isOutputOver = false  // The peer takes nothing any more, or we have said that nothing more comes.
    var owesEnd = false  // Our side ends once everything has gone out.
    var pendingStep: TimerID?
    var finished: (() -> Void)?
    var keptAlive: Transport?
    /// For an owner that itself writes at the end of the turn: it calls ``flush()`` after its last write.
    package var ownerFlushes = false

    /// Takes the descriptor over and begins to watch it; the handshake starts with this call.
    ///
    /// - Parameters:
    ///   - fd: Connected and non-blocking; closed by the transport, also when this initialiser throws.
    ///   - context: TLS is spoken if there is one.
    ///   - role: Which end we are.
    ///   - loop: The caller runs on its thread.
    ///   - handlers: Called on the loop's thread; not before this initialiser has returned.
    /// - Throws: ``TransportError`` when TLS or the loop cannot take the descriptor.
    package init(
        adopting fd: Int32,
        tls context: TLSContext?,
        role: TransportRole,
        loop: EventLoop,
        handlers: TransportHandlers
    ) throws(TransportError) {
        self.loop = loop
        socket = PlainSocket(descriptor: fd)
        self.handlers = handlers
        input = .allocate(byteCount: context == nil ? 4 * Self.recordBytes : Self.recordBytes, alignment: 16)
        state = context == nil ? .open : .handshaking
        socket.sendSmallPiecesAtOnce()
        do throws(TLSError) {
            tls = try context?.makeSession(descriptor: fd, role: role)
            sealed = tls?.output
        } catch {
            sealed = nil
            state = .closed
            socket.close()
            throw .tls(error)
        }
        do throws(EventLoopError) {
            watch = try loop.watch(fd, for: .read) { [unowned self] readiness in ready(readiness) }
        } catch {
            state = .closed
            tls = nil
            socket.close()
            throw .loop(error)
        }
        // Not from here: a handler must not run before its owner holds the transport.
        if tls != nil { next { if $0.state == .handshaking { $0.continueHandshake() } } }
    }

    /// Runs `step` in a turn of its own, instead of the step before.
    func next(in delay: Duration = .zero, _ step: @escaping (Transport) -> Void) {
        if let pendingStep { loop.cancel(pendingStep) }
        pendingStep = loop.schedule(at: .now + delay) { [weak self] in
            guard let self else { return }
            pendingStep = nil
            step(self)
        }
    }

    deinit {
        precondition(state == .closed, "a transport was let go before it was closed")
        input.deallocate()
    }

    // MARK: - Operations

    package var isClosed: Bool { state == .closed }

    /// All that was written here so far.
    package private(set) var writtenBytes = 0

    /// How many of the bytes written may have reached the peer: the kernel has got them, or gets them now.
    package private(set) var departedBytes = 0

    /// Bytes that were written here and not yet taken by the kernel.
    package var pendingBytes: Int { output.count + sealedBytes }

    /// What is written may still arrive.
    package var takesOutput: Bool { state != .closed && !isOutputOver }

    private var sealedBytes: Int { sealed?.bytes.count ?? 0 }

    /// Whether the owner should stop writing until `writable`. Writing on is allowed, and costs memory.
    package var isBacklogged: Bool {
        guard output.count >= Self.backlogBytes || (isBlocked && pendingBytes >= Self.recordBytes) else { return false }
        owesWritable = true
        return true
    }

    /// Changes who is told, for an owner that hands the transport on: a server that has read which protocol is spoken.
    package func replaceHandlers(_ handlers: TransportHandlers) {
        guard state != .closed else { return }
        self.handlers = handlers
    }

    /// Copies `bytes` into the turn's gathering. Ignored once closed.
    package func write(_ bytes: UnsafeRawBufferPointer) {
        guard state == .open || state == .handshaking, !isOutputOver else { return }
        output.append(bytes)
        writtenBytes += bytes.count
        if output.count >= Self.recordBytes, state == .open, !isBlocked { flush(onlyFullRecords: true) }
        if !ownerFlushes { scheduleFlush() }
    }

    package func write(_ bytes: [UInt8]) { bytes.withUnsafeBytes { write($0) } }

    /// Hands everything that was written to the kernel, as far as it takes it.
    package func flush() {
        if state == .open { flush(onlyFullRecords: false) }
    }

    /// Hands the full records to the kernel; what has not filled one may still be added to.
    package func flushRecords() {
        if state == .open, tls != nil { sendSealed() }
    }

    /// Stops taking bytes from the peer: its sending blocks once the buffers between us are full.
    package func pauseReading() {
        isReadingPaused = true
        updateInterest()
    }

    package func resumeReading() {
        guard isReadingPaused, !isInputOver else { return }
        isReadingPaused = false
        updateInterest()
        readSoon()
    }

    // MARK: - Readiness

    private func ready(_ readiness: Readiness) {
        withExtendedLifetime(self) {
            if state == .handshaking { return continueHandshake() }
            // Paused, we do not ask for a half-closed peer: both ways are gone, and epoll would tell of it for ever.
            if isReadingPaused, readiness.contains(.hangup) { return end(.closedByPeer) }
            if readiness.contains(.write) || (isBlocked && readiness.contains(.hangup)) {
                isBlocked = false
                flush(onlyFullRecords: false)
                tellWritable()
            }
            if state == .open, !readiness.isDisjoint(with: [.read, .hangup]) { readTurn() }
            if state == .finishing, readiness.contains(.hangup) { close() }
        }
    }

    private func continueHandshake() {
        guard let progress = tls?.handshake() else { return }
        isBlocked = false
        sendSealed()
        guard state == .handshaking else { return }
        switch progress {
        case .bytes:
            state = .open
            updateInterest()
            handlers?.handshakeDone(tls?.negotiatedProtocol)
            if state == .open { scheduleFlush() }
            // The peer's first bytes may have come with its last handshake message.
            if state == .open { readTurn() }
        case .wantsRead, .wantsWrite: updateInterest()
        case .closed: end(.closedByPeer)
        case .failed(let error): end(.tls(error))
        }
    }

    private func readTurn() {
        for _ in 0..<Self.readsPerTurn {
            guard state == .open, !isReadingPaused else { return }
            switch readOnce() {
            case .bytes(let count):
                handlers?.bytes(UnsafeRawBufferPointer(rebasing: input[..<count]))
                // OpenSSL has nothing left: if the kernel has, epoll tells, and a call that finds nothing is saved.
                if tls?.hasBufferedInput == false { return }
            case .wantsRead, .wantsWrite:
                // Reading can make records, such as the answer to a new key.
                if sealedBytes > 0, !isBlocked { sendSealed() }
                return
            case .closed: return inputEnded()
            case .failed(let error): return end(.tls(error))
            }
        }
        readSoon()
    }

    private func inputEnded() {
        guard tls == nil, !isOutputOver else { return end(.closedByPeer) }
        isInputOver = true
        pauseReading()
        if handlers?.inputEnded() != true { end(.closedByPeer) }
    }

    private func readOnce() -> TLSSession.Progress {
        tls?.read(into: input) ?? socket.read(into: input)
    }

    /// epoll tells of the descriptor's bytes, not of those that OpenSSL already holds.
    private func readSoon() {
        guard state == .open, !isReadingPaused, pendingStep == nil, tls?.hasBufferedInput == true else { return }
        next { if $0.state == .open { $0.readTurn() } }
    }

    // MARK: - Writing

    private func scheduleFlush() {
        guard !isFlushScheduled, pendingBytes > 0, !isBlocked else { return }
        isFlushScheduled = true
        loop.atEndOfTurn { [weak self] in
            guard let self else { return }
            isFlushScheduled = false
            if state == .open || state == .finishing { flush(onlyFullRecords: false) }
            tellWritable()
        }
    }

    func flush(onlyFullRecords: Bool) {
        if tls == nil { sendPlain() } else { seal(onlyFullRecords: onlyFullRecords) }
        guard pendingBytes == 0, state != .closed else { return }
        updateInterest()
        if state == .finishing { close() } else if owesEnd { sayEnd() }
    }

    /// Makes records of what was written, and sends them several at a time.
    private func seal(onlyFullRecords: Bool) {
        while !isBlocked, state == .open || state == .finishing {
            if sealedBytes >= Self.sendBytes { sendSealed() }
            guard output.count >= (onlyFullRecords ? Self.recordBytes : 1), !isBlocked else { break }
            switch output.withFront(Self.recordBytes, { tls?.write($0) ?? .closed }) {
            case .bytes(let count): output.removeFirst(count)
            case .wantsRead, .wantsWrite: return  // The next reading goes on with it.
            case .closed: return end(.closedByPeer)
            case .failed(let error): return end(.tls(error))
            }
        }
        if !onlyFullRecords { sendSealed() }
    }

    func sendSealed() {
        guard let sealed else { return }
        depart()
        while !sealed.bytes.isEmpty, !isBlocked, state != .closed {
            sealed.bytes.removeFirst(taken(socket.give(sealed.bytes)))
        }
    }

    private func sendPlain() {
        depart()
        while !output.isEmpty, !isBlocked, state != .closed { output.removeFirst(taken(socket.give(output))) }
    }

    /// Before the kernel is given what there is to give.
    func depart() {
        guard !isBlocked else { return }
        let bytes = tls == nil ? writtenBytes : writtenBytes - output.count
        guard bytes > departedBytes else { return }
        departedBytes = bytes
        handlers?.departing()
    }

    /// How many bytes the kernel took; where it took none, waits or ends.
    private func taken(_ progress: TLSSession.Progress) -> Int {
        switch progress {
        case .bytes(let count): return count
        case .wantsWrite:
            isBlocked = true
            updateInterest()
        default:
            outputEnded()
            // It is dropped: nothing is left to give.
            return tls == nil ? output.count : sealedBytes
        }
        return 0
    }

    /// What has come of the peer by now may be requests, or answers that settle what is in doubt: they are read first.
    private func outputEnded() {
        guard state == .open, !isReadingPaused else { return end(.closedByPeer) }
        guard !isOutputOver else { return }
        isOutputOver = true
        if tls != nil { output.removeFirst(output.count) }
        next { $0.readRest() }
    }

    private func readRest() {
        for _ in 0..<Self.readsPerTurn {
            let isReading = state == .open && !isReadingPaused
            guard isReading, case .bytes(let count) = readOnce() else { return end(.closedByPeer) }
            handlers?.bytes(UnsafeRawBufferPointer(rebasing: input[..<count]))
        }
        if state == .open { next { $0.readRest() } }
    }

    private func tellWritable() {
        guard owesWritable, state == .open, pendingBytes < Self.recordBytes else { return }
        owesWritable = false
        handlers?.writable()
    }

    func updateInterest() {
        var wanted: Interest = []
        if !isReadingPaused, state != .finishing { wanted.insert(.read) }
        if isBlocked { wanted.insert(.write) }
        guard wanted != interest, let watch else { return }
        interest = wanted
        loop.change(watch, to: wanted)
    }

    private func end(_ reason: TransportCloseReason) {
        guard state != .closed else { return }
        let closed = handlers?.closed
        close()
        closed?(reason)
    }
}
