internal import EventLoop
internal import HTTP2

/// How a lane's connections come, go and are told apart.
extension Lane {
    /// Called when pushes wait that no connection can take.
    func grow(now: ContinuousClock.Instant) {
        guard !isClosing else { return }
        var facts = ConnectionGrowth.Facts(
            waiting: queue.count,
            unproven: connecting,
            inFlight: inFlight,
            isUrgent: queue.firstRank == .channel
        )
        var atStake = 0
        for entry in connections where !entry.connection.isDraining {
            switch standing(of: entry, now: now) {
            case .good: facts.ready += 1
            case .hopeful: facts.unproven += 1
            case .inDoubt:
                facts.inDoubt += 1
                atStake += entry.connection.openStreams
            }
        }
        facts.waiting = max(facts.waiting, atStake)
        noteStarvation(now: now)
        switch growth.decide(facts, now: now, random: .random(in: 0..<1)) {
        case .none: break
        case .open:
            connecting += 1
            connectingSince = now
            hooks.connect()
        case .askAgain(let instant): wake(at: instant)
        }
    }

    /// Begins the handshake on a connected descriptor.
    ///
    /// - Parameters:
    ///   - descriptor: Ours from here on.
    ///   - began: When its address was looked up.
    func adopt(_ descriptor: Int32, began: ContinuousClock.Instant) {
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
                guard let self, let entry else { return }
                entry.drains()
                draining(entry, debug)
            },
            inDoubt: { [weak self] in self?.lookAfter() },
            closed: { [weak self] error in
                guard let self, let closed = entry else { return }
                // The handlers hold the entry, which holds the connection, which held the handlers.
                entry = nil
                self.closed(closed, error)
            }
        )
        var settings = configuration.connection
        settings.startsSlowly = configuration.startsSlowly && !growth.rest.isTrusted
        do throws(HTTP2Error) {
            // The socket is open; whether TLS and HTTP/2 come about is told through the handlers.
            let connection = try HTTP2ClientConnection(
                adopting: descriptor,
                tls: configuration.tls,
                serverName: configuration.endpoints[key.environment, key.role].host,
                loop: loop,
                by: now + configuration.connectTimeout,
                configuration: settings,
                handlers: handlers
            )
            let health = ConnectionHealth(patience: configuration.unansweredPatience)
            let adopted = LaneConnection(connection, health: health, began: began, now: now)
            entry = adopted
            connections.append(adopted)
            counters.connectionsOpened.add(1)
            counters.connections.add(1)
            if isClosing { connection.close() }
        } catch {
            failed(error, .tls, began: began)
        }
    }

    func connectFailed(_ error: HTTP2Error, began: ContinuousClock.Instant) {
        connecting -= 1
        failed(error, .unreachable, began: began)
    }

    private func failed(_ error: HTTP2Error, _ cause: ConnectionEnd, began: ContinuousClock.Instant) {
        hooks.connectionFailed(error.description)
        counters.connectionsClosed.add(1, cause)
        logEnd(cause, error, nil)
        growth.ended(.none, began: began, now: .now, random: .random(in: 0..<1))
        dispatch()
    }

    private func draining(_ entry: LaneConnection, _ debug: String) {
        if entry.connection.goAwayCode == HTTP2ErrorCode.enhanceYourCalm {
            growth.calm(now: .now, random: .random(in: 0..<1))
        }
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
        switch entry.endReason {
        case .idle, .age, .streamIDs, .closing: break
        case .unreachable, .tls, .goAway, .reset, .silence, .unanswered, .protocolError, .providerToken, .replaced:
            let now = ContinuousClock.now
            growth.ended(
                ReconnectRest.Yield(taken: entry.taken, life: now - entry.openedAt),
                began: entry.began,
                now: now,
                random: .random(in: 0..<1)
            )
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
