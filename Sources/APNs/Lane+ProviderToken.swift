internal import APNsProtocol

/// The provider token of a lane: asked for, asked for again, and looked into when APNs refuses it.
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
            } else if !held.isEmpty {
                hooks.clockIsWrong(ClockCheck.youngTokenRefused)
            }
            for push in held {
                if isNew {
                    resend(push, .providerToken, orElse: (.providerTokenExpired, Self.expiredToken))
                } else {
                    refuse(push, .providerTokenExpired, Self.expiredToken)
                }
            }
        case .failure(.unavailable):
            for push in held { refuse(push, .providerTokenExpired, Self.expiredToken) }
            // With the token that there is, pushes go on; without one, they wait for it until their deadline.
            if token == nil { return wake(at: .now + .seconds(1)) }
        case .failure(.unusable(let reason)):
            token = nil
            for push in held + queue.withdrawAll() {
                let outcome = Outcome.configuration(APNsReason(rawValue: "provider token: \(reason)"))
                refuse(push, outcome, RefusalLabel.noProviderToken)
            }
        }
        dispatch()
    }

    /// APNs calls the token expired: it is looked into once, and what was refused waits for that.
    func expired(_ flight: LaneConnection.Flight) {
        var push = flight.push
        guard !push.hasRetriedToken else { return refuse(push, .providerTokenExpired, Self.expiredToken) }
        push.hasRetriedToken = true
        guard flight.tokenGeneration == tokenGeneration, let token else {
            return resend(push, .providerToken, orElse: (.providerTokenExpired, Self.expiredToken))
        }
        heldForToken.append(push)
        askForToken(refused: (token, .expired))
    }

    /// A refused token and another time at APNs: people have to set a clock.
    func complainOfClock(date: String?) {
        guard let complaint = ClockCheck.complaint(date: date, now: configuration.wallClock()) else { return }
        hooks.clockIsWrong(complaint)
    }
}
