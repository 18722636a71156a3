package import APNs
internal import APNsProtocol
internal import Core
internal import Crypto
package import Log
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
    /// Names this process as a maker of channels.
    private let owner = Hex.encode(SecureRandom.bytes(8))

    package typealias Checkpoint = @Sendable (_ step: String) async throws(StoreError) -> Void

    package struct Configuration: Sendable {
        /// How often to look for work that nobody rang for.
        package var poll: Duration = .seconds(1)
        /// The least time between two rounds.
        package var rest: Duration = .milliseconds(100)
        /// How long a claimed duty is this process's.
        package var lease: Duration = .seconds(15)
        /// How long an ended match waits for all its targets before its tokens go anyway.
        package var patience: Duration = .seconds(4 * 3600)
        /// Between two rounds of forgetting old events and turns.
        package var pruning: Duration = .seconds(600)
        /// Between two looks at how many dead rows the small tables have.
        package var vacuuming: Duration = .seconds(5)
        /// Between two looks for matches that are behind.
        package var watching: Duration = .seconds(5)
        package var log = Logger.silent
        /// For tests: called between any two steps of making and deleting channels. What it throws is as if the process
        /// had died there.
        package var checkpoint: Checkpoint?

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
            group.addTask { await self.vacuum() }
            group.addTask { await self.lookAfterWaitingStarts() }
            group.addTask { await self.watchForStalls() }
            group.addTask { await self.watchClock() }
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
            silence: duty.silence,
            endDueAt: duty.endDueAt,
            resendAt: duty.resendAt,
            hasEnded: duty.hasEnded,
            isCalledOff: duty.isCalledOff,
            now: duty.now
        )
        switch decided {
        case .look(let moment):
            try await store.lookAgain(at: duty, moment, by: deadline)
        case .warn(let endsAt, let next):
            configuration.log.warning("a silent match ends by itself", Self.fields(duty, endsAt: endsAt))
            try await store.lookAgain(at: duty, next, by: deadline)
        case .end:
            guard try await store.end(duty.match, by: deadline) != nil else { break }
            bell.ring()
            if duty.endDueAt == nil, !duty.isCalledOff {
                configuration.log.warning("a silent match has ended by itself", Self.fields(duty, endsAt: duty.now))
            }
        case .resend:
            try await store.resend(duty.match, by: deadline)
            bell.ring()
        case .afterwards:
            try await clearUp(duty)
        }
    }

    private static func fields(_ duty: MatchDuty, endsAt: Moment) -> LogFields {
        [
            "tenant": duty.match.tenant.text, "match": duty.match.match.text,
            "last_event_at": Self.text(duty.lastActivityAt), "ends_at": Self.text(endsAt),
            "ends_after_silence_s": duty.silence,
        ]
    }

    private static func text(_ moment: Moment) -> String {
        Timestamp(microseconds: moment.milliseconds * 1_000).description
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
        let creations = duties.filter { $0.channel.state == .pending && $0.stopped == nil }
        let maker = ChannelMaker(
            store: store,
            channels: channels,
            bell: bell,
            owner: owner,
            log: configuration.log,
            checkpoint: configuration.checkpoint
        )
        await withDiscardingTaskGroup { group in
            // Where the database fails, the claim runs out and the duty is due again.
            for duty in duties where duty.channel.state != .pending || duty.stopped != nil {
                group.addTask { try? await self.run(duty) }
            }
            for duties in Dictionary(grouping: creations, by: \.channel.app).values {
                group.addTask { try? await maker.run(duties) }
            }
        }
        return duties.count
    }

    /// Deletes a channel, or says why nothing happens with it.
    private func run(_ duty: ChannelDuty) async throws(StoreError) {
        let channel = duty.channel
        if let reason = duty.stopped {
            if channel.creatingAt != nil {
                try await store.creationInDoubt(channel, lookAfter: .seconds(60), by: deadline)
            } else {
                try await store.channelFailed(channel, retryAfter: .seconds(60), error: reason, by: deadline)
            }
            return
        }
        guard channel.state == .open, let id = channel.channel else {
            return try await store.channelDeleted(channel, by: deadline)
        }
        try await configuration.checkpoint?("deleting")
        let answer = await channels.answer(
            to: .delete(channel.bundle, id),
            environment: channel.environment,
            credential: duty.credential
        )
        try await configuration.checkpoint?("deleted")
        if case .deleted = answer {
            try await store.channelDeleted(channel, by: deadline)
        } else {
            try await ChannelFailure(store: store, log: configuration.log, duty: duty).settle(answer, by: deadline)
        }
    }

    // MARK: - Old rows

    private func prune() async {
        while !Task.isCancelled {
            try? await store.pruneStragglers(by: deadline)
            for sentence in (try? await books.check(store, by: deadline)) ?? [] {
                configuration.log.error("counts do not add up", ["what": sentence])
            }
            try? await store.pruneChannelIDs(by: deadline)
            try? await store.pruneStarts(by: deadline)
            try? await store.pruneLastAnswers(by: deadline)
            while let count = try? await store.pruneEvents(limit: 5000, by: deadline), count == 5000 {}
            while let count = try? await store.pruneTurns(limit: 1000, by: deadline), count >= 1000 {}
            try? await Task.sleep(for: configuration.pruning)
        }
    }

    private func watchForStalls() async {
        var reporter = BehindReporter(store: store, log: configuration.log)
        while !Task.isCancelled {
            await reporter.look(by: .now + .seconds(3))
            try? await Task.sleep(for: configuration.watching)
        }
    }

    private func watchClock() async {
        while !Task.isCancelled {
            await lookAtClock()
            try? await Task.sleep(for: configuration.poll)
        }
    }

    /// Lets nothing wait for a clock of the database's that was set back.
    package func lookAtClock() async {
        guard let step = try? await store.lookAtClock(by: deadline) else { return }
        configuration.log.warning("the database's clock was set back: what waited for it is due", ["by_s": step])
        bell.ring()
    }

    private func lookAfterWaitingStarts() async {
        while !Task.isCancelled {
            try? await store.lookAfterWaitingStarts(by: deadline)
            bell.starts.signal()
            try? await Task.sleep(for: .seconds(30))
        }
    }

    /// PostgreSQL's own vacuum comes once a minute, and a thousand live matches leave fifty thousand dead rows by then.
    private func vacuum() async {
        while !Task.isCancelled {
            try? await Task.sleep(for: configuration.vacuuming)
            if Task.isCancelled { return }
            _ = try? await store.vacuumHotTables(by: deadline)
        }
    }
}
