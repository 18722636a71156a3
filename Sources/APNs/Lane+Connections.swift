internal import EventLoop
internal import HTTP2

/// How a lane's connections come, go and are told apart.
extension Lane {
    /// Called when pushes wait that no connection can take.
    func grow(now: ContinuousClock.Instant) {
        guard !isClosing else { return }
        let usable = connections.filter { !$0.connection.isDraining }
        // One that does not answer its first request holds up the next for a while only.
        let patience = configuration.firstAnswerPatience
        let hopeful = usable.filter { !$0.isProven && now - $0.openedAt < patience }
        let unproven = hopeful.count
        if let oldest = hopeful.first { wake(at: oldest.openedAt + patience) }
        let facts = ConnectionGrowth.Facts(
            waiting: queue.count,
            ready: usable.count - unproven,
            unproven: unproven + connecting,
            inFlight: inFlight,
            isUrgent: queue.firstRank == .channel
        )
        switch growth.decide(facts, now: now) {
        case .none: break
        case .open:
            connecting += 1
            hooks.connect()
        case .askAgain(let instant): wake(at: instant)
        }
    }

    /// Begins the handshake on a connected descriptor.
    func adopt(_ descriptor: Int32) {
        connecting -= 1
        let now = ContinuousClock.now
        // Both are set before a handler is called.
        var entry: LaneConnection?
        let handlers = HTTP2ClientHandlers(
            ready: { [weak self] in self?.dispatch() },
            ended: { [weak self] slot, end, response in
                guard let self, let entry else { return }
                ended(slot, end, response, on: entry)
            },
            room: { [weak self] in self?.dispatch() },
            draining: { [weak self] debug in
                entry?.drains()
                self?.draining(debug)
            },
            closed: { [weak self] error in
                guard let self, let closed = entry else { return }
                // The handlers hold the entry, which holds the connection, which held the handlers.
                entry = nil
                self.closed(closed, error)
            }
        )
        do throws(HTTP2Error) {
            // The socket is open; whether TLS and HTTP/2 come about is told through the handlers.
            let connection = try HTTP2ClientConnection(
                adopting: descriptor,
                tls: configuration.tls,
                serverName: configuration.endpoints[key.environment, key.role].host,
                loop: loop,
                by: now + configuration.connectTimeout,
                configuration: configuration.connection,
                handlers: handlers
            )
            let adopted = LaneConnection(connection, now: now)
            entry = adopted
            connections.append(adopted)
            counters.connectionsOpened.add(1)
            counters.connections.add(1)
            if isClosing { connection.close() }
        } catch {
            failed(error, .tls)
        }
    }

    func connectFailed(_ error: HTTP2Error) {
        connecting -= 1
        failed(error, .unreachable)
    }

    private func failed(_ error: HTTP2Error, _ cause: ConnectionEnd) {
        hooks.connectionFailed(error.description)
        counters.connectionsClosed.add(1, cause)
        logEnd(cause, error, nil)
        growth.failed(now: .now, random: .random(in: 0..<1))
        dispatch()
    }

    private func draining(_ debug: String) {
        if !debug.isEmpty {
            // JSON, a sentence or nothing; it comes from outside, and goes into somebody's log.
            let printable = debug.unicodeScalars.filter { $0.isASCII && $0.value >= 0x20 && $0.value != 0x7F }
            hooks.connectionFailed("APNs drains it: \(String(String.UnicodeScalarView(printable)))")
        }
        scheduleDispatch()
    }

    private func closed(_ entry: LaneConnection, _ error: HTTP2Error?) {
        connections.removeAll { $0 === entry }
        counters.connections.add(-1)
        counters.connectionsClosed.add(1, entry.endReason)
        if !isClosing { logEnd(entry.endReason, error, entry) }
        if let error, !isClosing { hooks.connectionFailed(error.description) }
        if !entry.isProven, entry.endReason != .idle, entry.endReason != .age {
            growth.failed(now: .now, random: .random(in: 0..<1))
        } else if .now - entry.openedAt < .seconds(1) {
            // A peer that ends young connections is not asked again at once.
            growth.rest(until: .now + configuration.firstReconnect * .random(in: 0.2..<0.4))
        }
        scheduleDispatch()
    }

    /// Retires what idles beside others, what idles for too long, and what is old.
    func sweep(now: ContinuousClock.Instant) {
        for entry in connections where !entry.connection.isDraining && entry.connection.isReady {
            let others = connections.count { !$0.connection.isDraining } - 1
            let isIdle = entry.connection.openStreams == 0
            let isOld = now - entry.openedAt >= configuration.longestLife
            let isSurplus =
                isIdle
                && ConnectionGrowth.isSurplus(
                    idleFor: now - entry.idleSince,
                    others: others,
                    shrinkAfter: configuration.shrinkAfter,
                    closeAfter: configuration.closeAfter
                )
            if isSurplus || isOld { entry.retire(isOld ? .age : .idle) }
        }
    }

    /// Nothing waits, nothing is connected, and nobody has used it for long.
    func isForgotten(now: ContinuousClock.Instant) -> Bool {
        queue.isEmpty && connections.isEmpty && connecting == 0 && heldForToken.isEmpty && inFlight == 0
            && now - lastUsed >= configuration.closeAfter
    }
}
