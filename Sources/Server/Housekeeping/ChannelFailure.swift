internal import APNs
internal import APNsProtocol
internal import Core
internal import Log
internal import Store

/// What becomes of a channel's creation or deletion that APNs did not carry out.
struct ChannelFailure {
    let store: Store
    let log: Logger
    let duty: ChannelDuty

    /// Shown with a channel when the app has as many as Apple allows.
    static let limitReached = """
        CannotCreateChannelConfig: the app has 10,000 channels in this environment, as many as Apple allows: see \
        “touchline channel audit” for those that no match needs, or shorten the app's channel_lead and channel_linger
        """

    func settle(_ answer: ChannelAnswer, by deadline: ContinuousClock.Instant) async throws(StoreError) {
        switch answer {
        case .limitReached: try await fail(Self.limitReached, after: .seconds(300), deadline)
        case .created, .found, .deleted, .listed: try await fail("unreadable answer", after: .seconds(60), deadline)
        case .failed(let outcome): try await settle(outcome, deadline)
        }
    }

    private func settle(_ outcome: Outcome, _ deadline: ContinuousClock.Instant) async throws(StoreError) {
        switch Disposition(outcome) {
        case .stopApp(let reason):
            if try await store.stop(.channel, of: duty.channel.app, because: reason, by: deadline) {
                log.stopped(.channel, of: duty.channel.app, because: reason)
            }
            try await fail(reason, after: .seconds(60), deadline)
        case .checkChannel where duty.channel.state == .open:
            // Gone already.
            try await store.channelDeleted(duty.channel, by: deadline)
        case .retry(let failure):
            let delay = RetryRule.delay(after: failure, attempt: duty.attempts, isUrgent: true)
            try await fail("APNs could not be reached, or asked to come later", after: delay, deadline)
        case .giveUp(let reason), .checkChannel(let reason), .setTokenAside(let reason):
            try await fail(reason, after: .seconds(300), deadline)
        case .accepted, .removeToken:
            try await fail("unreadable answer", after: .seconds(300), deadline)
        }
    }

    private func fail(
        _ reason: String,
        after delay: Duration,
        _ deadline: ContinuousClock.Instant
    ) async throws(StoreError) {
        log.warning(
            "a channel could not be made or deleted",
            [
                "tenant": duty.channel.match.tenant.text, "match": duty.channel.match.match.text,
                "app": duty.channel.bundle.text, "environment": duty.channel.environment.rawValue,
                "reason": reason, "again_after_s": delay,
            ]
        )
        // One whose answer is missing stays in doubt, whatever the list was answered with.
        if duty.channel.creatingAt != nil {
            try await store.creationInDoubt(duty.channel, lookAfter: delay, by: deadline)
        } else {
            try await store.channelFailed(duty.channel, retryAfter: delay, error: reason, by: deadline)
        }
    }
}
