internal import EventLoop
internal import Executables

/// Kills services by `kill -9` and starts them again, at moments that the seed decides.
final class SeasonKiller: Sendable {
    struct Counts: Sendable {
        var kills = 0
        var ofAll = 0
        var skipped = 0
        var isOver = false
        /// Not before the kick-offs are what the run knows them to be.
        var maySkip = false
    }

    private let options: SeasonOptions
    private let stage: FleetStage
    private let state = ThreadLock(Counts())

    init(_ options: SeasonOptions, _ stage: FleetStage) {
        self.options = options
        self.stage = stage
    }

    var counts: Counts { state.withLock { $0 } }

    func stop() { state.withLock { $0.isOver = true } }

    /// From here on the clock is set on, if the run says so.
    func allowSkips() { state.withLock { $0.maySkip = true } }

    /// Returns when stopped; every service runs again then.
    func run(_ clock: SeasonClock) async {
        guard options.paceMilliseconds > 0 else { return }
        var dice = Dice(seed: options.seed, stream: "kills")
        while !counts.isOver {
            let pause = dice.number(in: options.paceMilliseconds / 2...options.paceMilliseconds * 3 / 2)
            let isOfAll = dice.chance(25) || options.skipSeconds > 0
            let victim = dice.number(in: 0...options.services - 1)
            let absence = Duration.milliseconds(dice.number(in: 0...1_500))
            let due = ContinuousClock.now + .milliseconds(pause)
            while ContinuousClock.now < due {
                if counts.isOver || Task.isCancelled { return }
                try? await Task.sleep(until: min(due, .now + .milliseconds(100)), clock: .continuous)
            }
            await kill(isOfAll ? Array(0..<options.services) : [victim], for: absence, clock)
        }
    }

    /// Kills all, and sets the clock on while they are dead.
    func skip(_ clock: SeasonClock) async { await kill(Array(0..<options.services), for: .zero, clock) }

    private func kill(_ victims: [Int], for absence: Duration, _ clock: SeasonClock) async {
        let isOfAll = victims.count == options.services
        for number in victims { await stage.fleet.kill(number) }
        state.withLock { counts in
            counts.kills += victims.count
            if isOfAll { counts.ofAll += 1 }
        }
        // APNs does what it was asked for before a successor looks.
        try? await Task.sleep(for: absence + .milliseconds(300))
        if isOfAll, options.skipSeconds > 0, counts.maySkip,
            (try? await clock.skip(options.skipSeconds, in: stage.cluster)) != nil
        {
            state.withLock { $0.skipped += options.skipSeconds }
        }
        await withDiscardingTaskGroup { group in
            for number in victims { group.addTask { try? await self.stage.fleet.start(number) } }
        }
    }
}
