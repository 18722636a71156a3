internal import APNsProtocol
internal import EventLoop

/// The four ways in which a push comes back to its caller; each is counted once.
extension Lane {
    static let expiredToken = "ExpiredProviderToken"

    /// APNs has it.
    func accept(_ push: Push, uniqueID: String?, now: ContinuousClock.Instant) {
        counters.accepted.add(1)
        finish(push, .accepted(uniqueID: uniqueID), now: now)
    }

    /// APNs has refused it, or it cannot be sent for a reason that sending again does not mend.
    ///
    /// - Parameters:
    ///   - push: It.
    ///   - outcome: What its caller learns.
    ///   - reason: APNs' word, or one of ``RefusalLabel``.
    func refuse(_ push: Push, _ outcome: Outcome, _ reason: String) {
        counters.refused[RefusalLabel.place(of: reason)].add(1)
        finish(push, outcome, now: .now)
    }

    /// It may have arrived.
    func doubt(_ push: Push, _ cause: UnknownCause, _ text: String) {
        counters.unknown.add(1, cause)
        finish(push, .unknown(text), now: .now)
    }

    /// No peer has taken it up.
    func giveUp(_ push: Push, _ cause: NotProcessedCause) {
        counters.notProcessed.add(1, cause)
        finish(push, .notProcessed, now: .now)
    }

    private func finish(_ push: Push, _ outcome: Outcome, now: ContinuousClock.Instant) {
        counters.latencies.record(push.batch.batch.due.duration(to: now))
        guard push.batch.finish(push.index, outcome) else { return }
        if let timer = push.batch.deadlineTimer { loop.cancel(timer) }
        push.batch.complete()
    }
}
