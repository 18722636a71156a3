internal import APNs
internal import EventLoop
internal import Executables
import FoundationEssentials

/// One run of `loadtest chaos`.
struct ChaosRun {
    private let options: ChaosOptions
    private let stage: ChaosStage
    private let tallies = CallTallies()
    private let plays = ThreadLock<[MatchPlay]>([])
    private let metrics = MetricsWatch()

    /// Starts everything, lets it fail, waits until it has settled, and checks.
    static func run(_ options: ChaosOptions, in workplace: Workplace) async throws(Failure) -> Report {
        Terminal.progress("starting PostgreSQL, the simulator and \(options.services) services")
        let stage = try await ChaosStage.prepare(options, in: workplace)
        let run = ChaosRun(options: options, stage: stage)
        do throws(Failure) {
            let report = try await run.report()
            await stage.fleet.end()
            workplace.keepLogs(in: options.logFolder)
            await stage.cluster.stop()
            await stage.host.end()
            return report
        } catch {
            workplace.keepLogs(in: options.logFolder)
            await stage.fleet.end()
            await stage.cluster.stop()
            await stage.host.end()
            throw error
        }
    }

    private func report() async throws(Failure) -> Report {
        let leftOut = stage.host.leftOut
        for (kind, why) in leftOut.sorted(by: { $0.key.rawValue < $1.key.rawValue }) where !options.output.isQuiet {
            Terminal.endProgress()
            Terminal.complain("left out: \(kind.text): \(why)")
        }
        let plan = options.plan.without(Set(leftOut.keys))
        let begin = ContinuousClock.now
        let end = begin + .milliseconds(plan.milliseconds)
        let runner = FaultRunner(stage, services: options.services) { [options] line in
            if options.output.isQuiet { return }
            Terminal.endProgress()
            Terminal.complain(line)
        }
        let watching = Task { await watch(runner, plan, from: begin, until: end) }
        defer { watching.cancel() }
        // The last events of all come when nothing goes wrong any more.
        let faults = Task { await runner.run(plan, from: begin) }
        await withTaskCancellationHandler {
            await withDiscardingTaskGroup { group in
                for slot in 0..<options.matches {
                    group.addTask { await self.playOn(slot, from: begin, until: end) { await faults.value } }
                }
            }
            await faults.value
        } onCancel: {
            faults.cancel()
        }
        let played = begin.duration(to: .now)
        let (waited, unsettled) = try await settle()
        watching.cancel()
        await metrics.look(at: stage.fleet)
        Terminal.progress("looking at what phones show")
        var evidence = try await ChaosWitness(stage: stage).evidence()
        evidence.unsettled = unsettled
        evidence.faults = runner.records
        var outcome = ChaosOutcome(options: options, plan: plan, faults: runner.records)
        outcome.seconds = played.seconds
        outcome.settledSeconds = waited.seconds
        outcome.leftOut = leftOut
        try await fill(&outcome, evidence)
        return outcome.report
    }

    private func fill(_ outcome: inout ChaosOutcome, _ evidence: ChaosEvidence) async throws(Failure) {
        var books: [MatchBook] = []
        var misdeeds = await stage.fleet.misdeeds
        for play in plays.withLock({ $0 }) {
            books.append(await play.book)
            outcome.phones += await play.counts
            outcome.duplicates += await play.feedCounts.duplicates
            outcome.reorderings += await play.feedCounts.reordered
            misdeeds += await play.complaints
        }
        misdeeds += tallies.values.misdeeds
        var verdict = ChaosChecker.verdict(on: books, evidence)
        for text in misdeeds { verdict.add(.misdeed, text) }
        try await keepBooks(books)
        outcome.verdict = verdict
        outcome.matches = books.count
        outcome.calls = tallies.values
        outcome.counts = try await stage.simulator.counts()
        outcome.doubts = metrics.doubts
        outcome.latencies = try await ChaosWitness(stage: stage).latencies()
        outcome.resent = try await ChaosWitness(stage: stage).resent()
    }

    /// Beside the logs: what the feed and the phones know, and what became of each row.
    private func keepBooks(_ books: [MatchBook]) async throws(Failure) {
        guard let folder = options.logFolder else { return }
        let history = try await stage.cluster.history()
        do {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            try JSONEncoder().encode(books).write(to: URL(filePath: "\(folder)/books.json"))
            try Data(history.joined(separator: "\n").utf8).write(to: URL(filePath: "\(folder)/history.json"))
        } catch {
            throw Failure(.failed, "cannot write to \(folder): \(error)")
        }
    }

    // MARK: - Matches

    /// Matches one after the other; each but the last one ends.
    private func playOn(
        _ slot: Int,
        from begin: ContinuousClock.Instant,
        until end: ContinuousClock.Instant,
        isCalm: @escaping @Sendable () async -> Void
    ) async {
        var dice = Dice(seed: options.seed, stream: "slot \(slot)")
        let tenant = slot / 3 % stage.keys.count
        let app = ChaosApp.all(of: tenant)[slot % 3]
        let key = stage.keys[tenant]
        var round = 0
        while ContinuousClock.now < end, !Task.isCancelled {
            let client = ChaosClient(fleet: stage.fleet, key: key, tallies: tallies)
            let play = MatchPlay(
                slot + round * options.matches,
                app,
                client,
                stage,
                options,
                giveUp: end + .seconds(options.patienceSeconds)
            )
            plays.withLock { $0.append(play) }
            let length = Duration.seconds(dice.number(in: 40...120))
            let left = end - .now
            let isLast = left < length + .seconds(20)
            // Who paces slowly would let a routine event wait for a minute.
            let endings: [MatchPlay.Ending] = app.isQuick ? [.routine, .key, .end] : [.key, .end]
            let ending = dice.pick(endings)
            if isLast {
                await play.play(until: end, ending, isCalm: isCalm)
            } else {
                await play.play(until: .now + length, .end, isCalm: {})
            }
            round += 1
        }
    }

    // MARK: - Settling

    /// Waits until nothing is due any more.
    ///
    /// - Returns: How long that took, and what is still not done when patience is over.
    private func settle() async throws(Failure) -> (Duration, [String]) {
        let begin = ContinuousClock.now
        let end = begin + .seconds(options.patienceSeconds)
        let witness = ChaosWitness(stage: stage)
        while true {
            let left = try await witness.unsettled()
            if left.isEmpty || ContinuousClock.now >= end || Task.isCancelled {
                return (begin.duration(to: .now), Array(left.prefix(20)))
            }
            let seconds = Int(begin.duration(to: .now).seconds)
            Terminal.progress("settling for \(seconds) s: \(left.count) left; \(left[0])".prefixed(78))
            try? await Task.sleep(for: .milliseconds(250))
        }
    }

    /// The progress on a terminal, the services' figures before they are lost, and services that ended by themselves.
    private func watch(
        _ runner: FaultRunner,
        _ plan: ChaosPlan,
        from begin: ContinuousClock.Instant,
        until end: ContinuousClock.Instant
    ) async {
        while !Task.isCancelled {
            await stage.fleet.look()
            await metrics.look(at: stage.fleet)
            if ContinuousClock.now < end {
                let seconds = Int(begin.duration(to: .now).seconds)
                let answers = tallies.values.answers.values.reduce(0, +)
                Terminal.progress(
                    "\(seconds) of \(options.seconds) s, \(runner.records.count) of \(plan.faults.count) faults, "
                        + "\(answers.grouped) calls answered"
                )
            }
            try? await Task.sleep(for: .seconds(1))
        }
    }
}

extension String {
    /// At most so many characters of it.
    fileprivate func prefixed(_ count: Int) -> String { String(prefix(count)) }
}
