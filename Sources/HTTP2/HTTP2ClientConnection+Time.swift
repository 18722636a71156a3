internal import EventLoop

/// Deadlines, PINGs and gathering: one timer for all of them.
extension HTTP2ClientConnection {
    func becameBusy() {
        let now = ContinuousClock.now
        busySince = now
        // A PING may be overdue, if this process was stopped. The owner does not know yet of the slot that is being submitted:
        // the timer finds out.
        guard !liveness.isAsked else {
            _ = liveness.used(now: now)
            return schedule(at: now)
        }
        if liveness.used(now: now) { return ping(now: now) }
        checkLiveness(now: now)
    }

    func abandon(_ slot: Int) {
        session.submitReset(stream: streams[slot].stream, code: HTTP2ErrorCode.cancel)
        streams.abandon(slot)
        schedulePump()
    }

    private func timerFired() {
        timer = nil
        timerInstant = nil
        let now = ContinuousClock.now
        if state == .opening {
            if isCleartext { return becomeReady() }
            guard now >= openDeadline else { return schedule(at: openDeadline) }
            let reason = "no TLS within the deadline"
            return end(.cannotConnect(reason), .tls, handshakeFailed: reason)
        }
        if awaitsSettings {
            if now >= settingsDeadline {
                awaitsSettings = false
                handlers?.room()
            } else {
                schedule(at: settingsDeadline)
            }
        }
        if let gatheredUntil {
            if now >= gatheredUntil { pump() } else { schedule(at: gatheredUntil) }
        }
        if let deadline = nextDeadline {
            if now >= deadline { expire(now: now) } else { schedule(at: deadline) }
        }
        checkLiveness(now: now)
    }

    private func expire(now: ContinuousClock.Instant) {
        let (expired, next) = streams.expired(at: now)
        nextDeadline = next
        if let next { schedule(at: next) }
        for slot in expired where state == .ready {
            let isWhole = !session.hasUnsentBody(slot)
            abandon(slot)
            handlers?.ended(slot, .deadlinePassed(isWhole: isWhole), session.response(of: slot))
        }
    }

    func checkLiveness(now: ContinuousClock.Instant) {
        guard state == .ready else { return }
        switch liveness.check(busySince: busySince, now: now) {
        case .wait(let instant): schedule(at: instant)
        case .ping: ping(now: now)
        case .doubt:
            checkLiveness(now: now)
            handlers?.inDoubt()
        case .dead: end(.connectionLost("no answer to a PING"), .silence, handshakeFailed: nil)
        }
    }

    /// The timer finds out when the answer takes too long.
    func ping(now: ContinuousClock.Instant) {
        session.submitPing()
        schedulePump()
        schedule(at: now)
    }

    /// One timer serves all deadlines: it is set to the earliest, and asks what is due when it fires.
    func schedule(at instant: ContinuousClock.Instant) {
        if let timerInstant, timerInstant <= instant { return }
        cancelTimer()
        timerInstant = instant
        timer = loop.schedule(at: instant) { [weak self] in self?.timerFired() }
    }

    func cancelTimer() {
        if let timer { loop.cancel(timer) }
        timer = nil
        timerInstant = nil
    }
}
