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
        // APNs has it, however the rest of the answer ends; one that contradicts itself has no status.
        if response.status == 200 {
            counters.answerTimes.record(flight.writtenAt.duration(to: now))
            heard(entry)
            proven(entry)
            took(entry)
            let uniqueID = response.fields.isEmpty ? nil : response.fields["apns-unique-id"]
            return accept(flight.push, uniqueID: uniqueID, now: now)
        }
        switch end {
        case .answered:
            heard(entry)
            counters.answerTimes.record(flight.writtenAt.duration(to: now))
            answered(flight, response, on: entry, now: now)
        case .notProcessed:
            let isDraining = entry.connection.isDraining
            if !isDraining {
                refused(entry, now: now)
            } else if entry.taken > 0 {
                // A peer that takes some and then goes away gets ahead: the deadline is budget enough.
                flight.push.attempts -= 1
            }
            resend(flight.push, isDraining ? .goAway : .refusedStream)
        case .notSent: resend(flight.push, .notSent)
        case .malformed(let violation):
            hooks.strangeAnswer(.malformed(violation.description))
            doubt(flight.push, .malformed, "the answer broke HTTP/2: \(violation)")
            wasMalformed(entry)
        case .reset(let code):
            doubt(flight.push, .reset, "stream reset, code \(code)")
            wasReset(entry, code: code, now: now)
        case .lost: doubt(flight.push, .connectionLost, "connection lost")
        case .deadlinePassed(let isWhole):
            if isWhole {
                doubt(flight.push, .deadline, "no answer within the deadline")
            } else {
                giveUp(flight.push, .deadline)
            }
            metDeadline(entry, writtenAt: flight.writtenAt, now: now)
        }
    }

    private func answered(
        _ flight: LaneConnection.Flight,
        _ response: HTTP2ResponseRecord,
        on entry: LaneConnection,
        now: ContinuousClock.Instant
    ) {
        var push = flight.push
        let date = response.fields["date"]
        let answer = ErrorAnswer(response.body)
        let isForeign = Outcome.isForeign(status: response.status, reason: answer.reason)
        if response.status != 403, !isForeign { proven(entry) }
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
            growth.calm(now: now, random: .random(in: 0..<1))
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
            if !isForeign { took(entry) }
            if case .configuration("InvalidProviderToken") = outcome { complainOfClock(date: date) }
            if isForeign { hooks.strangeAnswer(.status(response.status)) }
            refuse(push, outcome, isForeign ? RefusalLabel.foreign : answer.reason)
        }
    }

    private func isOld(_ entry: LaneConnection, now: ContinuousClock.Instant) -> Bool {
        now - entry.openedAt >= configuration.topicGrace
    }

    /// It answers requests.
    private func heard(_ entry: LaneConnection) {
        entry.health.answered()
        starvation.served()
    }

    private func proven(_ entry: LaneConnection) {
        entry.refusals = 0
        entry.isProven = true
    }

    /// APNs has taken a push up, whatever it thought of it.
    private func took(_ entry: LaneConnection) {
        entry.taken += 1
        if entry.taken == ReconnectRest.plenty { growth.yielded() }
    }
}
