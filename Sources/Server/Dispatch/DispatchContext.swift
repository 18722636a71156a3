package import EventLoop
internal import APNs
internal import APNsProtocol
internal import Core
package import Log
package import Store
internal import Synchronization

/// The numbers of dispatching.
package struct DispatchConfiguration: Sendable {
    /// Names this process in its leases.
    package var owner: String
    package var lease: Duration = .seconds(10)
    package var renewal: Duration = .seconds(3)
    /// Tokens of a page.
    package var pageSize = 500
    /// Pages of one sweep that are read and not yet committed.
    package var pagesPerTarget = 8
    /// The part of a shard that they may be at most, unless a page would become too small: one in so many.
    package var windowShare = 12
    /// The same over all sweeps of the process: with `pageSize`, what a crash sends twice at most.
    package var pagesAtOnce = 16
    /// Targets that run at a time.
    package var targetsAtOnce = 128
    /// Of them, shards of tokens: sweeps last, and must not take the last places from channels.
    package var sweepsAtOnce = 96
    /// How often to look for work that nobody rang for.
    package var poll: Duration = .seconds(1)
    /// How often answers of APNs that were no acceptances are written, and outages are looked for.
    package var routesEvery: Duration = .seconds(1)
    /// How long a push may take, its queueing included.
    package var pushDeadline: Duration = .seconds(15)
    /// Stragglers of one claim, and how long such a claim holds.
    package var stragglersAtOnce = 500
    package var stragglerLease: Duration = .seconds(15)

    /// Where journals of starts are kept; nil: nowhere, so that after a crash all that were under way are in doubt.
    package var startJournals: String? = StartJournal.sharedMemory

    /// For tests: called between any two steps of a page of starts. What it returns is as if the process had died there.
    package var startStep: (@Sendable (_ step: String) async -> StoreError?)?

    /// Where claims are made and channels are served, in turn: whoever waits there for PostgreSQL or APNs wakes no other
    /// thread. They must outlive the dispatcher. Sweeps have more to compute, and run where there is room.
    package var loops: [EventLoop] = []

    package var log = Logger.silent

    package init(owner: String) {
        self.owner = owner
    }
}

/// What all runners share.
final class DispatchContext: Sendable {
    let store: Store
    let pool: SenderPool
    let channels: ChannelManagement
    let bell: WorkBell
    /// Signalled whenever a runner has ended.
    let runnerEnded = WakeUp()
    let configuration: DispatchConfiguration
    let leases = LeaseTable()
    let times = EventTimes()
    let lastAnswers = LastAnswers()
    let permits: PagePermits
    let outages: Outages
    private let began = ContinuousClock.now
    private let refusals = ThreadLock<[AppKey: RefusalWatch]>([:])
    private let goneChannels = ThreadLock<[AppKey: [Moment]]>([:])
    /// So many channels gone within a minute are no accident.
    private static let manyChannels = 10
    private let draining = Atomic(false)
    /// Matches whose starts this process sends just now.
    let startsRunning = Atomic(0)

    init(
        store: Store,
        pool: SenderPool,
        channels: ChannelManagement,
        bell: WorkBell,
        configuration: DispatchConfiguration
    ) {
        self.store = store
        self.pool = pool
        self.channels = channels
        self.bell = bell
        self.configuration = configuration
        permits = PagePermits(count: configuration.pagesAtOnce)
        outages = Outages(store: store, bell: bell, log: configuration.log)
    }

    /// Set once: what runs is brought to a page's end and given back.
    var isDraining: Bool { draining.load(ordering: .relaxed) }

    func beginDraining() {
        draining.store(true, ordering: .relaxed)
    }

    /// An error is waited out, and nobody else would learn of it.
    func report(_ error: StoreError) {
        guard !isDraining, !Task.isCancelled else { return }
        configuration.log.warning("dispatching waits for the database", ["reason": error.description], limit: 2)
    }

    /// Stops work of an app, and says so: nothing of it goes out until a person acts.
    func stop(_ kind: TargetKind, of app: AppKey, because reason: String) async throws(StoreError) {
        guard try await store.stop(kind, of: app, because: reason, by: storeDeadline) else { return }
        configuration.log.stopped(kind, of: app, because: reason)
    }

    /// For one call of the store.
    var storeDeadline: ContinuousClock.Instant { .now + .seconds(5) }

    /// A clock of this process's own that only goes forward, unlike the database's.
    private var uptime: Moment { Moment(milliseconds: (ContinuousClock.now - began).wholeMilliseconds) }

    /// Whether so many of the app's tokens are refused that its token sends are to stop.
    func note(_ report: PageReport, of app: AppKey) -> Bool {
        let answered = report.pushes - report.failures.count
        let refused = report.result.refused.map { $0.row.token.text.hashValue }
        return refusals.withLock {
            $0[app, default: RefusalWatch()].note(answered: answered, refused: refused, at: uptime)
        }
    }

    /// Whether so many of an app's channels are gone at once that its capability must have been switched off.
    func noteGoneChannel(of app: AppKey) -> Bool {
        let now = uptime
        return goneChannels.withLock { gone in
            let recent = gone[app, default: []].filter { $0 > now - .seconds(60) } + [now]
            gone[app] = recent.count < Self.manyChannels ? recent : nil
            return recent.count >= Self.manyChannels
        }
    }

    func forgetRefusals(of app: AppKey) {
        refusals.withLock { $0[app] = nil }
    }
}

extension MatchState {
    /// Whether nothing may be sent to targets of this kind for now: they leave the due set until somebody resumes.
    func isBlocked(for kind: TargetKind) -> Bool {
        guard let app else { return true }
        if (kind == .channel ? app.channelsStopped : app.tokensStopped) != nil { return true }
        // Ends go out though the app, match or tenant is paused.
        return (isPaused || app.isPaused) && !head.isEnd
    }
}
