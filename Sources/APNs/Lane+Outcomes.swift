internal import APNsProtocol
internal import HTTP2

/// What becomes of a push when its request has ended: an outcome, or another request.
extension Lane {
    func ended(_ slot: Int, _ end: HTTP2StreamEnd, _ response: HTTP2ResponseRecord, on entry: LaneConnection) {
        var (push, generation) = entry.end(slot: slot)
        inFlight -= 1
        counters.inFlight.set(inFlight)
        if entry.connection.openStreams == 0 { entry.idleSince = .now }
        switch end {
        case .answered: answered(push, generation: generation, response, on: entry)
        case .notProcessed:
            if !entry.connection.isDraining {
                pause(entry)
            } else if entry.isProven {
                // A peer that takes some and then goes away gets ahead: the deadline is budget enough.
                push.attempts -= 1
            }
            resend(push, orElse: .notProcessed)
        case .reset(let code): finish(push, .unknown("stream reset, code \(code)"))
        case .lost: finish(push, .unknown("connection lost"))
        case .deadlinePassed: finish(push, .unknown("no answer within the deadline"))
        }
    }

    private func answered(_ push: Push, generation: Int, _ response: HTTP2ResponseRecord, on entry: LaneConnection) {
        if response.status != 403 { proven(entry) }
        if response.status == 200 {
            return finish(push, .accepted(uniqueID: response.fields.isEmpty ? nil : response.fields["apns-unique-id"]))
        }
        let outcome = Outcome(
            status: response.status,
            body: response.body,
            retryAfter: response.fields["retry-after"]
        )
        switch outcome {
        case .providerTokenExpired: expired(push, generation: generation)
        case .tooManyProviderTokenUpdates:
            // The token is kept, the connection replaced.
            entry.connection.retire()
            if let token { askForToken(refused: (token, .tooManyUpdates)) }
            resend(push, orElse: outcome)
        case .later(_, let reason) where reason.replacesConnection,
            .configuration(let reason) where reason.replacesConnection:
            entry.connection.retire()
            resend(push, orElse: outcome)
        default: finish(push, outcome)
        }
    }

    private func proven(_ entry: LaneConnection) {
        entry.refusals = 0
        guard !entry.isProven else { return }
        entry.isProven = true
        growth.succeeded()
    }

    /// After a refused stream the lane's other connections go first, for longer each time.
    private func pause(_ entry: LaneConnection) {
        entry.refusals += 1
        let pause = Duration.milliseconds(25) * (1 << min(entry.refusals, 6))
        entry.pausedUntil = .now + pause
    }
}

// MARK: - Provider tokens

extension Lane {
    func askForToken(refused: (token: String, as: ProviderTokenRefusal)?) {
        guard !isAskingForToken else {
            if let refused { refusalToReport = refused }
            return
        }
        isAskingForToken = true
        tokenAskedAt = .now
        hooks.fetchToken(refused)
    }

    /// The source is asked again every minute while there is work: another process may have signed anew.
    func refreshToken() {
        guard let tokenAskedAt, .now - tokenAskedAt >= configuration.tokenRefresh else { return }
        askForToken(refused: nil)
    }

    func tokenArrived(_ result: Result<String, ProviderTokenError>) {
        isAskingForToken = false
        if let refusal = refusalToReport {
            refusalToReport = nil
            // The source did not know of it when it answered.
            if result == .success(refusal.token) { return askForToken(refused: refusal) }
        }
        let held = heldForToken
        heldForToken = []
        switch result {
        case .success(let newToken):
            let isNew = newToken != token
            if isNew {
                token = newToken
                tokenGeneration += 1
            }
            for push in held {
                if isNew { resend(push, orElse: .providerTokenExpired) } else { finish(push, .providerTokenExpired) }
            }
        case .failure(.unavailable):
            for push in held { finish(push, .providerTokenExpired) }
            // With the token that there is, pushes go on; without one, they wait for it until their deadline.
            if token == nil { return wake(at: .now + .seconds(1)) }
        case .failure(.unusable(let reason)):
            token = nil
            counters.waiting.add(-queue.count)
            for push in held + queue.withdrawAll() {
                finish(push, .configuration(APNsReason(rawValue: "provider token: \(reason)")))
            }
            hooks.queueShrank()
        }
        dispatch()
    }

    /// APNs calls the token expired: it is looked into once, and what was refused waits for that.
    private func expired(_ push: Push, generation: Int) {
        guard !push.hasRetriedToken else { return finish(push, .providerTokenExpired) }
        var push = push
        push.hasRetriedToken = true
        guard generation == tokenGeneration, let token else { return resend(push, orElse: .providerTokenExpired) }
        heldForToken.append(push)
        askForToken(refused: (token, .expired))
    }
}
