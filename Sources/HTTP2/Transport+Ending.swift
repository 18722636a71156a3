internal import EventLoop

/// The ways in which a transport ends.
extension Transport {
    /// Closes at once; what was not yet written is lost. No handler is called from here on.
    package func close() {
        guard state != .closed else { return }
        state = .closed
        if let pendingStep { loop.cancel(pendingStep) }
        pendingStep = nil
        // A descriptor leaves epoll before it is closed.
        if let watch { loop.unwatch(watch) }
        watch = nil
        sayGoodbye()
        tls = nil
        socket.close()
        // They hold the owner, which holds us.
        handlers = nil
        let finished = finished
        self.finished = nil
        finished?()
        keptAlive = nil
    }

    /// As far as the kernel takes it at once: nobody waits for it.
    private func sayGoodbye() {
        guard tls != nil, let sealed else { return }
        if pendingBytes == 0 { tls?.shutDown() }
        depart()
        _ = socket.give(sealed.bytes)
    }

    /// Closes when everything written has gone out, or ten seconds later. Nothing is read any more, no handler is called,
    /// and the owner may let go.
    ///
    /// - Parameter finished: Called once it is closed, also when the peer or `close()` was faster.
    package func closeAfterWriting(finished: @escaping () -> Void = {}) {
        guard state == .open else {
            close()
            return finished()
        }
        state = .finishing
        self.finished = finished
        handlers = nil
        keptAlive = self
        next(in: .seconds(10)) { $0.close() }
        updateInterest()
        withExtendedLifetime(self) { flush(onlyFullRecords: false) }
    }

    /// Ends our side once everything written has gone out: the peer reads it, and that nothing follows. What it still sends
    /// is read on; the owner closes, or the peer does.
    package func endOutput() {
        guard state == .open, !isOutputOver else { return }
        owesEnd = true
        withExtendedLifetime(self) { flush(onlyFullRecords: false) }
    }

    /// With nothing left to write.
    func sayEnd() {
        guard state == .open else { return }
        if !isOutputOver {
            isOutputOver = true
            tls?.shutDown()
            sendSealed()
        }
        guard pendingBytes == 0, state == .open else { return }
        owesEnd = false
        socket.endOutput()
    }
}
