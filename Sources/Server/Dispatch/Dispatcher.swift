package import APNs
internal import EventLoop
internal import APNsProtocol
internal import Core
package import Store
internal import Synchronization

/// Brings what is due to its match's version: claims targets, runs them, keeps their leases.
///
/// Any number of processes may each run one; PostgreSQL is all that they share.
package final class Dispatcher: Sendable {
    private let context: DispatchContext
    private let bell: WorkBell
    /// Runners at work, of targets and of straggler claims.
    private let running = Atomic(0)
    private let nextLoop = Atomic(0)

    package init(
        store: Store,
        pool: SenderPool,
        channels: ChannelManagement,
        bell: WorkBell,
        configuration: DispatchConfiguration
    ) {
        self.bell = bell
        context = DispatchContext(
            store: store,
            pool: pool,
            channels: channels,
            bell: bell,
            configuration: configuration
        )
    }

    var times: EventTimes { context.times }

    /// Runs until cancelled. Errors of the database are waited out.
    package func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask { await self.renewLeases() }
            group.addTask { await self.watchRoutes() }
            group.addTask { await self.runStragglers() }
            group.addTask { await self.context.runStarts() }
            group.addTask(executorPreference: context.configuration.loops.first) { await self.runTargets() }
        }
    }

    /// Takes nothing new, brings what runs to a page's end and gives it back.
    package func drain(by deadline: ContinuousClock.Instant) async {
        context.beginDraining()
        bell.ringHere()
        while running.load(ordering: .relaxed) + context.startsRunning.load(ordering: .relaxed) > 0, .now < deadline {
            await context.runnerEnded.wait(atMost: .milliseconds(200))
        }
    }

    // MARK: - Targets

    private func runTargets() async {
        await withDiscardingTaskGroup { group in
            var pause = context.configuration.poll
            while !Task.isCancelled {
                await bell.targets.wait(atMost: pause)
                if Task.isCancelled || context.isDraining { break }
                do throws(StoreError) {
                    let (claimed, askedAt, next) = try await claim()
                    pause = min(next ?? context.configuration.poll, context.configuration.poll)
                    for target in claimed {
                        running.add(1, ordering: .relaxed)
                        group.addTask { await self.runUnderLease(target, askedAt) }
                    }
                } catch {
                    context.report(error)
                    pause = .milliseconds(500)
                }
            }
        }
    }

    /// Claims as many due targets as there is room for, in the order of ``ClaimOrder``.
    ///
    /// - Returns: The claimed, when that was asked for, and how long to wait for more: a runner that ends looks by itself.
    private func claim() async throws(StoreError) -> (
        claimed: [ClaimedTarget], askedAt: ContinuousClock.Instant, next: Duration?
    ) {
        let configuration = context.configuration
        let asked = ContinuousClock.now
        let (claimed, next) = try await context.store.claimDue(
            context.leases.room(all: configuration.targetsAtOnce, tokens: configuration.sweepsAtOnce),
            running: context.leases.runningByTenant(),
            owner: configuration.owner,
            lease: configuration.lease,
            by: context.storeDeadline
        )
        context.leases.add(claimed.map(\.record), until: asked + configuration.lease)
        return (claimed, asked, next)
    }

    /// A task of its own, which the lease table cancels when the lease is lost.
    private func runUnderLease(_ target: ClaimedTarget, _ askedAt: ContinuousClock.Instant) async {
        let work = Task(executorPreference: place(of: target.record)) { await self.run(target, askedAt) }
        context.leases.attach(work, to: target.record)
        await withTaskCancellationHandler {
            await work.value
        } onCancel: {
            work.cancel()
        }
    }

    /// Where a target's runner runs; nil: anywhere.
    private func place(of record: TargetRecord) -> EventLoop? {
        let loops = context.configuration.loops
        guard record.key.kind == .channel, !loops.isEmpty else { return nil }
        return loops[nextLoop.wrappingAdd(1, ordering: .relaxed).oldValue % loops.count]
    }

    private func run(_ target: ClaimedTarget, _ askedAt: ContinuousClock.Instant) async {
        let record = target.record
        do throws(StoreError) {
            switch record.key.kind {
            case .channel:
                var runner = ChannelRunner(record, read: target.channel, at: askedAt, context: context)
                try await runner.run()
            case .tokens:
                var runner = SweepRunner(record, context: context)
                try await runner.run()
            }
        } catch {
            context.report(error)
            // Whoever claims the target goes on from its cursor: soon, if the database hears this, else when the lease
            // runs out.
            try? await context.store.giveBack(record, after: .milliseconds(500), by: .now + .seconds(1))
        }
        context.leases.remove(record)
        running.subtract(1, ordering: .relaxed)
        context.runnerEnded.signal()
        // It may be due again already, and there is room for another.
        bell.targets.signal()
    }

    private func renewLeases() async {
        while !Task.isCancelled {
            try? await Task.sleep(for: context.configuration.renewal)
            context.leases.expire()
            let epochs = context.leases.epochs
            guard !epochs.isEmpty, !Task.isCancelled else { continue }
            let asked = ContinuousClock.now
            let lease = context.configuration.lease
            if let held = try? await context.store.renew(
                epochs,
                lease: lease,
                by: asked + context.configuration.renewal
            ) {
                context.leases.renewed(epochs, held: held, until: asked + lease)
            }
        }
    }

    /// Learns of outages that other processes have begun or ended, and writes what APNs answered last.
    private func watchRoutes() async {
        while !Task.isCancelled {
            await context.outages.look()
            try? await Task.sleep(for: context.configuration.routesEvery)
            await context.lastAnswers.write(to: context.store, by: context.storeDeadline)
        }
    }

    // MARK: - Stragglers

    private func runStragglers() async {
        await withDiscardingTaskGroup { group in
            let slots = PagePermits(count: 4)
            var pause = context.configuration.poll
            var mayHaveMore = false
            while !Task.isCancelled {
                if !mayHaveMore {
                    await bell.stragglers.wait(atMost: pause)
                    // Registrations come in swarms: a moment's patience makes one push of many.
                    try? await Task.sleep(for: .milliseconds(5))
                }
                if Task.isCancelled || context.isDraining { break }
                await slots.take(isUrgent: false)
                do throws(StoreError) {
                    let limit = context.configuration.stragglersAtOnce
                    let (claimed, next) = try await context.store.claimStragglers(
                        limit: limit,
                        lease: context.configuration.stragglerLease,
                        by: context.storeDeadline
                    )
                    pause = min(max(next ?? context.configuration.poll, .milliseconds(5)), context.configuration.poll)
                    mayHaveMore = claimed.count == limit
                    running.add(1, ordering: .relaxed)
                    group.addTask {
                        await self.run(claimed)
                        slots.give()
                    }
                } catch {
                    context.report(error)
                    slots.give()
                    pause = .milliseconds(500)
                    mayHaveMore = false
                }
            }
        }
    }

    private func run(_ claimed: [ClaimedStraggler]) async {
        struct Place: Hashable {
            let match: MatchKey
            let environment: String
        }
        let groups = Dictionary(grouping: claimed) {
            Place(match: $0.match, environment: $0.target.environment.rawValue)
        }
        await withDiscardingTaskGroup { group in
            for stragglers in groups.values {
                group.addTask {
                    do throws(StoreError) {
                        try await StragglerRunner(context: self.context).run(stragglers)
                    } catch {
                        // The claim runs out and they are due again.
                        self.context.report(error)
                    }
                }
            }
        }
        running.subtract(1, ordering: .relaxed)
        context.runnerEnded.signal()
    }
}
