internal import APNsProtocol
internal import HTTP2

/// What becomes of a push when its request has ended: an outcome, or another request.
extension Lane {
    func ended(_ slot: Int, _ end: HTTP2StreamEnd, _ response: HTTP2ResponseRecord, on entry: LaneConnection) {
        let now = ContinuousClock.now
        var flight = entry.end(slot: slot)
        inFlight -= 1
        counters.inFlight.add(-1)
        if entry.connection.openStreams == 0 { entry.idleSince = now }
        // APNs has it, however the rest of the answer ends.
        if response.status == 200 {
            counters.answerTimes.record(flight.writtenAt.duration(to: now))
            proven(entry)
            let uniqueID = response.fields.isEmpty ? nil : response.fields["apns-unique-id"]
            return accept(flight.push, uniqueID: uniqueID, now: now)
        }
        switch end {
        case .answered:
            counters.answerTimes.record(flight.writtenAt.duration(to: now))
            answered(flight, response, on: entry, now: now)
        case .notProcessed:
            let isDraining = entry.connection.isDraining
            if !isDraining {
                pause(entry)
            } else if entry.isProven {
                // A peer that takes some and then goes away gets ahead: the deadline is budget enough.
                flight.push.attempts -= 1
            }
            resend(flight.push, isDraining ? .goAway : .refusedStream)
        case .notSent: resend(flight.push, .notSent)
        case .reset(let code): doubt(flight.push, .reset, "stream reset, code \(code)")
        case .lost: doubt(flight.push, .connectionLost, "connection lost")
        case .deadlinePassed: doubt(flight.push, .deadline, "no answer within the deadline")
        }
    }

    private func answered(
        _ flight: LaneConnection.Flight,
        _ response: HTTP2ResponseRecord,
        on entry: LaneConnection,
        now: ContinuousClock.Instant
    ) {
        if response.status != 403 { proven(entry) }
        var push = flight.push
        let date = response.fields["date"]
        let answer = ErrorAnswer(response.body)
        let outcome = Outcome(
            status: response.status,
            answer,
            retryAfter: response.fields["retry-after"],
            now: date.flatMap(HTTPDate.seconds) ?? configuration.wallClock()
        )
        switch outcome {
        case .providerTokenExpired:
            complainOfClock(date: date)
            expired(flight)
        case .tooManyProviderTokenUpdates:
            // The token is kept, the connection replaced.
            entry.retire(.providerToken)
            if let token { askForToken(refused: (token, .tooManyUpdates)) }
            resend(push, .tokenUpdates, orElse: (outcome, answer.reason))
        case .later(_, let reason) where reason.replacesConnection,
            .configuration(let reason) where reason.replacesConnection:
            entry.retire(.replaced)
            resend(push, .replacedConnection, orElse: (outcome, reason.rawValue))
        case .configuration("TopicDisallowed") where !push.hasRetriedTopic && isOld(entry, now: now):
            // The team may have got the topic since: APNs binds a connection to the topics of its first push.
            for entry in connections where isOld(entry, now: now) { entry.retire(.replaced) }
            push.hasRetriedTopic = true
            resend(push, .topic, orElse: (outcome, answer.reason))
        default:
            if case .configuration("InvalidProviderToken") = outcome { complainOfClock(date: date) }
            refuse(push, outcome, answer.reason)
        }
    }

    private func isOld(_ entry: LaneConnection, now: ContinuousClock.Instant) -> Bool {
        now - entry.openedAt >= configuration.topicGrace
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
