package import APNs
internal import APNsProtocol
internal import Core
package import Store

/// The slow work: channels made before their match and deleted after it, ends, what is left after them, old events.
///
/// Any number of processes may each run one: duties are claimed in PostgreSQL.
package final class Housekeeper: Sendable {
    private let store: Store
    private let channels: ChannelManagement
    private let bell: WorkBell
    private let configuration: Configuration
    let books = Books()

    package struct Configuration: Sendable {
        /// How often to look for work that nobody rang for.
        package var poll: Duration = .seconds(1)
        /// The least time between two rounds.
        package var rest: Duration = .milliseconds(100)
        /// How long a claimed duty is this process's.
        package var lease: Duration = .seconds(15)
        /// How long an ended match waits for all its targets before its tokens go anyway.
        package var patience: Duration = .seconds(4 * 3600)
        /// Between two rounds of forgetting old events.
        package var pruning: Duration = .seconds(600)
        /// Is told in a sentence what must not be: a version whose counts do not add up.
        package var report: (@Sendable (String) -> Void)?

        package init() {}
    }

    package init(
        store: Store,
        channels: ChannelManagement,
        bell: WorkBell,
        configuration: Configuration = Configuration()
    ) {
        self.store = store
        self.channels = channels
        self.bell = bell
        self.configuration = configuration
    }

    /// Runs until cancelled. Errors of the database are waited out.
    package func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask { await self.prune() }
            var pause = Duration.zero
            while !Task.isCancelled {
                await self.bell.housekeeping.wait(atMost: pause)
                if Task.isCancelled { break }
                do {
                    let next = try await self.round()
                    pause = min(max(next ?? self.configuration.poll, .milliseconds(20)), self.configuration.poll)
                } catch {
                    pause = self.configuration.poll
                }
                // Every event rings the bell, and hardly one is of interest here.
                try? await Task.sleep(for: self.configuration.rest)
            }
        }
    }

    /// For one call of the store.
    private var deadline: ContinuousClock.Instant { .now + .seconds(10) }

    /// Does what is due.
    ///
    /// - Returns: How long until something is due again, as far as is known.
    package func round() async throws(StoreError) -> Duration? {
        let (duties, next) = try await store.claimMatchDuties(limit: 100, lease: configuration.lease, by: deadline)
        for duty in duties { try await look(at: duty) }
        let count = try await runChannelDuties()
        return duties.count == 100 || count == Self.channelsAtOnce ? .zero : next
    }

    // MARK: - Matches

    private func look(at duty: MatchDuty) async throws(StoreError) {
        let decided = EndHold.duty(
            kickoffAt: duty.kickoffAt,
            lastActivityAt: duty.lastActivityAt,
            endDueAt: duty.endDueAt,
            resendAt: duty.resendAt,
            hasEnded: duty.hasEnded,
            isCalledOff: duty.isCalledOff,
            now: duty.now
        )
        switch decided {
        case .look(let moment):
            try await store.lookAgain(at: duty, moment, by: deadline)
        case .end:
            if try await store.end(duty.match, by: deadline) != nil { bell.ring() }
        case .resend:
            try await store.resend(duty.match, by: deadline)
            bell.ring()
        case .afterwards:
            try await clearUp(duty)
        }
    }

    /// Once the end has reached all of an ended match's targets, its tokens go, and its channels after their linger.
    private func clearUp(_ duty: MatchDuty) async throws(StoreError) {
        let waited = duty.now - (duty.endRequestedAt ?? duty.now)
        if waited < configuration.patience, try await store.lacksEnd(duty.match, by: deadline) {
            // Soon at first, then ever less often.
            let pause = min(max(waited * 0.25, .seconds(1)), .seconds(300))
            try await store.lookAgain(at: duty, duty.now + pause, by: deadline)
            return
        }
        try await store.scheduleChannelDeletion(duty.match, by: deadline)
        while try await store.removeTokens(of: duty.match, limit: 5000, by: deadline) {}
        try await store.lookAgain(at: duty, duty.resendAt, by: deadline)
    }

    // MARK: - Channels

    private static let channelsAtOnce = 64

    /// Creates and deletes channels whose time has come, a bounded number side by side.
    private func runChannelDuties() async throws(StoreError) -> Int {
        let duties = try await store.claimChannelDuties(
            limit: Self.channelsAtOnce,
            lease: configuration.lease,
            by: deadline
        )
        await withDiscardingTaskGroup { group in
            for duty in duties {
                // Where the database fails, the claim runs out and the duty is due again.
                group.addTask { try? await self.run(duty) }
            }
        }
        return duties.count
    }

    private func run(_ duty: ChannelDuty) async throws(StoreError) {
        let channel = duty.channel
        if let reason = duty.stopped {
            try await store.channelFailed(channel, retryAfter: .seconds(60), error: reason, by: deadline)
            return
        }
        let request: ChannelRequest
        switch (channel.state, channel.channel) {
        case (.pending, _): request = .create(channel.bundle, channel.storagePolicy)
        case (.open, let id?): request = .delete(channel.bundle, id)
        case (.open, nil), (.deleted, _): return try await store.channelDeleted(channel, by: deadline)
        }
        let answer = await channels.answer(
            to: request,
            environment: channel.environment,
            credential: duty.credential
        )
        switch answer {
        case .created(let id):
            try await store.channelOpened(channel, as: id, by: deadline)
            bell.ring()
        case .deleted:
            try await store.channelDeleted(channel, by: deadline)
        case .limitReached:
            try await fail(duty, "the app has 10,000 channels: delete those of finished matches", after: .seconds(300))
        case .found, .listed:
            try await fail(duty, "unreadable answer", after: .seconds(60))
        case .failed(let outcome):
            try await settle(duty, outcome)
        }
    }

    private func settle(_ duty: ChannelDuty, _ outcome: Outcome) async throws(StoreError) {
        let app = AppKey(
            tenant: duty.channel.match.tenant,
            bundle: duty.channel.bundle,
            environment: duty.channel.environment
        )
        switch Disposition(outcome) {
        case .stopApp(let reason):
            try await store.stop(.channel, of: app, because: reason, by: deadline)
            try await fail(duty, reason, after: .seconds(60))
        case .checkChannel where duty.channel.state == .open:
            // Gone already.
            try await store.channelDeleted(duty.channel, by: deadline)
        case .retry(let failure):
            let delay = RetryRule.delay(after: failure, attempt: duty.attempts, isUrgent: true)
            try await fail(duty, "APNs could not be reached, or asked to come later", after: delay)
        case .giveUp(let reason), .checkChannel(let reason), .setTokenAside(let reason):
            try await fail(duty, reason, after: .seconds(300))
        case .accepted, .removeToken:
            try await fail(duty, "unreadable answer", after: .seconds(300))
        }
    }

    private func fail(_ duty: ChannelDuty, _ reason: String, after delay: Duration) async throws(StoreError) {
        try await store.channelFailed(duty.channel, retryAfter: delay, error: reason, by: deadline)
    }

    // MARK: - Old rows

    private func prune() async {
        while !Task.isCancelled {
            try? await store.pruneStragglers(by: deadline)
            for sentence in (try? await books.check(store, by: deadline)) ?? [] {
                configuration.report?("counts do not add up: \(sentence)")
            }
            while let count = try? await store.pruneEvents(limit: 5000, by: deadline), count == 5000 {}
            try? await Task.sleep(for: configuration.pruning)
        }
    }
}
