import EventLoop
import HTTP2

/// What a connection counted towards a scripted GOAWAY, and the streams that it keeps unanswered for it.
///
/// A stream above the rule's last stream would be answered before the frame comes and could not be told "not processed"
/// any more: it is held until then. When the rule is gone, or no stream comes for a second, held streams are let go.
struct GoAwayWatch {
    static let patience: Duration = .seconds(1)

    struct Rule: Equatable {
        let number: Int
        let generation: Int
    }

    var rule: Rule?
    var streams = 0
    var held: [(step: PendingStep, delay: Duration)] = []
    var lastArrival = ContinuousClock.now
    var isTimed = false
}

extension ProviderConnection {
    /// Counts a stream towards a GOAWAY, and sends it when its time has come.
    ///
    /// - Returns: Whether the stream is held, or gone with the frame.
    func goAwayTakes(
        _ step: PendingStep,
        delay: Duration,
        _ fault: GoAwayFault,
        _ rule: GoAwayWatch.Rule,
        of connection: isolated HTTP2ServerConnection
    ) -> Bool {
        if goAway.rule != rule {
            letGo(of: connection)
            goAway.rule = rule
            goAway.streams = 0
        }
        goAway.streams += 1
        goAway.lastArrival = .now
        let isHeld = fault.lastStream.map { step.stream > $0 } ?? false
        if isHeld { goAway.held.append((step, delay)) }
        if goAway.streams >= fault.afterStreams {
            let isOurs = service.faults.useGoAway(rule.number, generation: rule.generation)
            guard isOurs else {
                letGo(of: connection)
                return isHeld
            }
            goAway.held = []
            goAway.streams = 0
            let lastStream = fault.lastStream ?? step.stream
            service.assumeIsolated { $0.note { $0.goAways += 1 } }
            processNothing(above: lastStream)
            if fault.isInTwoSteps { connection.submitGoAway(lastStream: .max, code: fault.code) }
            connection.submitGoAway(
                lastStream: lastStream,
                code: fault.code,
                debug: Array(fault.debug.utf8)
            )
        } else if isHeld {
            watchHeld(of: connection)
        }
        return isHeld
    }

    /// Goes on with what is held as if there were no rule.
    private func letGo(of connection: isolated HTTP2ServerConnection) {
        let held = goAway.held
        goAway.held = []
        for (step, delay) in held { proceed(step, after: delay, of: connection) }
    }

    private func watchHeld(of connection: isolated HTTP2ServerConnection) {
        guard !goAway.isTimed else { return }
        goAway.isTimed = true
        // Unsafe because the compiler does not know that the timer runs on the connection's loop.
        nonisolated(unsafe) let provider = self
        connection.loop.schedule(at: .now + .milliseconds(100)) { [connection] in
            connection.assumeIsolated { provider.lookAtHeld(of: $0) }
        }
    }

    private func lookAtHeld(of connection: isolated HTTP2ServerConnection) {
        goAway.isTimed = false
        guard let rule = goAway.rule, !goAway.held.isEmpty else { return }
        let awaits = service.faults.awaitsGoAway(rule.number, generation: rule.generation)
        if awaits, ContinuousClock.now - goAway.lastArrival < GoAwayWatch.patience {
            watchHeld(of: connection)
        } else {
            letGo(of: connection)
        }
    }
}
