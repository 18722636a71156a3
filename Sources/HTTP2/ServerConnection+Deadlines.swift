internal import EventLoop

/// When a connection last moved.
struct ServerProgress {
    let started = ContinuousClock.now
    /// The peer's last bytes.
    var activity = ContinuousClock.now
    /// When the peer was last seen to take bytes of ours, or none waited.
    var output = ContinuousClock.now
    /// How many it had taken by then.
    var taken = 0
}

extension HTTP2ServerConnection {
    /// A peer gets so long to read our last bytes and close.
    private static let linger = Duration.seconds(1)

    func startDeadlines() {
        timer.handler = { [weak self] in self?.assumeIsolated { $0.checkDeadlines() } }
        checkDeadlines()
    }

    func lingerDeadline() {
        timer.cancel()
        timer.set(.now + Self.linger + (configuration.outputDelay ?? .zero))
    }

    /// Acts on what is overdue and sets the timer to what comes next. Runs once a deadline at most, not once a request.
    private func checkDeadlines() {
        guard state == .open else {
            if state == .lingering { lingerOn() }
            return
        }
        let now = ContinuousClock.now
        var next: ContinuousClock.Instant?
        func isOver(_ start: ContinuousClock.Instant, _ duration: Duration) -> Bool {
            let deadline = start + duration
            if deadline <= now { return true }
            next = min(next ?? deadline, deadline)
            return false
        }
        let record = session.record
        if let limit = configuration.handshakeDeadline, !record.pointee.hasPeerSettings,
            isOver(progress.started, limit)
        {
            return end(.deadlinePassed)
        }
        noteOutput(at: now)
        if let limit = configuration.writeDeadline, isOver(progress.output, limit) { return end(.deadlinePassed) }
        if let limit = configuration.requestDeadline {
            if let since = record.pointee.headerBlockSince, isOver(since, limit) { return end(.deadlinePassed) }
            let late = record.pointee.incoming.filter { _, request in request.since.map { isOver($0, limit) } == true }
            for stream in late.keys { refuse(stream: stream, status: 408) }
            let undone = record.pointee.discarding.filter { _, rest in rest.since.map { isOver($0, limit) } == true }
            for stream in undone.keys { reset(stream: stream, code: 0) }
            guard state == .open else { return }
            // Requests that begin later must be found later.
            _ = isOver(now, limit)
        }
        if let limit = configuration.idleDeadline {
            let start = openStreams == 0 ? progress.activity : now
            if isOver(start, limit) {
                session.goAway(lastStream: session.lastStream, code: 0, debug: [])
                return pump()
            }
        }
        if let next { timer.set(next) }
    }

    /// A slow peer may take its last bytes as long as it takes some.
    private func lingerOn() {
        let taken = progress.taken
        noteOutput(at: .now)
        guard transport.pendingBytes > 0, progress.taken != taken else { return end(.done) }
        timer.set(.now + Self.linger)
    }

    /// Output moved when the peer took bytes, or when none wait for it.
    private func noteOutput(at now: ContinuousClock.Instant) {
        let taken = written - transport.pendingBytes
        let waits = transport.pendingBytes > 0 || !session.record.pointee.outgoing.isEmpty
        if taken != progress.taken || !waits {
            progress.taken = taken
            progress.output = now
        }
    }
}
