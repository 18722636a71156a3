internal import Core
internal import EventLoop
internal import Executables
import FoundationEssentials
internal import PostgreSQL

/// One run of `loadtest season`.
struct SeasonRun {
    let options: SeasonOptions
    let stage: FleetStage
    let plan: SeasonPlan
    let folder: String
    let book: SeasonBook
    let clock = SeasonClock()
    let tallies = CallTallies()
    let killer: SeasonKiller

    /// An `end` is held this long.
    private static let hold = 5.0

    static func run(_ options: SeasonOptions, in workplace: Workplace) async throws(Failure) -> Report {
        Terminal.progress("starting PostgreSQL, the simulator and \(options.services) services")
        let stage = try await FleetStage.prepare(
            in: workplace,
            services: options.services,
            simulatorArguments: ["--seed", String(options.seed)],
            settings: [
                ("channels", "single"), ("tokens", false), ("channel_lead", .int(options.lead)),
                ("channel_linger", .int(options.linger)),
            ]
        )
        let stay = hold + Double(options.linger + options.patienceSeconds)
        let run = SeasonRun(
            options: options,
            stage: stage,
            plan: SeasonPlan(options),
            folder: workplace.folder,
            book: SeasonBook(stay: stay),
            killer: SeasonKiller(options, stage)
        )
        do throws(Failure) {
            let report = try await run.report()
            await stage.end()
            workplace.keepLogs(in: options.logFolder)
            return report
        } catch {
            workplace.keepLogs(in: options.logFolder)
            await stage.end()
            throw error
        }
    }

    private func report() async throws(Failure) -> Report {
        let begin = ContinuousClock.now
        let watching = Task { await watch() }
        let killing = Task { await killer.run(clock) }
        defer {
            watching.cancel()
            killer.stop()
        }
        if options.lostPercent > 0 {
            // Done, and never told; all the others come late, so that a kill falls between asking and knowing.
            _ = await stage.scripted.begin([
                "on": ["route": "manage", "share": .raw(RawJSON(text: "\(Double(options.lostPercent) / 100)"))],
                "do": ["lost_answer": true],
            ])
        }
        _ = await stage.scripted.begin(["on": ["route": "manage"], "do": ["delay_ms": 20, "jitter_ms": 200]])
        var imports = SeasonImports(stage: stage, folder: folder, plan: plan)
        try await importSeason(&imports)
        await play()
        killer.stop()
        await killing.value
        await stage.scripted.endAll()
        let played = begin.duration(to: .now)
        let settled = try await settle()
        watching.cancel()
        await watching.value
        var figures = try await figures(imports)
        figures.settled_seconds = settled.seconds
        return try await report(figures, seconds: played.seconds)
    }

    // MARK: - The season

    /// Twice as the league has it, months ahead; then brought forward into the next minutes.
    private func importSeason(_ imports: inout SeasonImports) async throws(Failure) {
        let month = clock.now + 30 * 86_400
        let ahead = plan.lines { clock.text(month + Double($0 / 10) * 7 * 86_400) }
        for pass in 1...2 {
            let unchanged = try await imports.run(ahead)
            if pass == 2, unchanged != options.matches {
                book.complain("the same file again: \(options.matches - unchanged) fixtures were not as they were")
            }
        }
        if book.values.most > 0 { book.complain("there were channels before any match was near") }
        let begin = clock.now
        for fixture in plan.fixtures {
            book.opens(fixture.match, at: (begin + fixture.kickoff).rounded() - Double(options.lead))
        }
        let near = plan.fixtures.map { clock.text((begin + $0.kickoff).rounded()) }
        kickoffsFrom.withLock { $0 = begin }
        _ = try await imports.run(plan.lines { near[$0] })
        _ = try await imports.run(plan.lines { near[$0] })
        killer.allowSkips()
    }

    private let kickoffsFrom = ThreadLock(0.0)

    private func play() async {
        let begin = kickoffsFrom.withLock { $0 }
        await withDiscardingTaskGroup { group in
            for fixture in plan.fixtures { group.addTask { await self.play(fixture, from: begin) } }
        }
    }

    private func play(_ fixture: SeasonPlan.Fixture, from begin: Double) async {
        let kickoff = begin + fixture.kickoff
        let path = "/v1/matches/\(fixture.match.replacing("/", with: "%2F"))"
        switch fixture.fate {
        case .played: await clock.wait(until: kickoff)
        case .postponed:
            await clock.wait(until: kickoff - Double(options.lead) / 4)
            await call("PUT", path, body(fixture, kickoff, "postponed"))
            await clock.wait(until: kickoff)
            await call("PUT", path, body(fixture, kickoff + 4, "scheduled"))
            await clock.wait(until: kickoff + 4)
        case .abandoned:
            await clock.wait(until: kickoff)
            await goal(fixture, path)
            await call("PUT", path, body(fixture, kickoff, "abandoned"))
            return book.isOver(fixture.match, at: clock.real)
        case .deleted:
            await clock.wait(until: kickoff)
            await call("DELETE", path, nil, answers: [204, 404])
            return book.isOver(fixture.match, at: clock.real)
        }
        await goal(fixture, path)
        await clock.wait(until: kickoff + fixture.length)
        let end: JSONOutput = [
            "id": .string("\(fixture.match) end"), "kind": "end", "importance": "key",
            "content_state": ["home": 1, "away": 0, "clock": "FT"],
        ]
        await call("POST", "\(path)/events", end)
        book.isOver(fixture.match, at: clock.real)
    }

    private func goal(_ fixture: SeasonPlan.Fixture, _ path: String) async {
        await call(
            "POST",
            "\(path)/events",
            [
                "id": .string("\(fixture.match) goal"), "kind": "update", "importance": "key",
                "content_state": ["home": 1, "away": 0, "clock": "1'"],
            ]
        )
    }

    private func body(_ fixture: SeasonPlan.Fixture, _ kickoff: Double, _ status: String) -> JSONOutput {
        [
            "bundle": .string(FleetStage.bundle), "type": "ScoreAttributes",
            "kickoff_at": .string(clock.text(kickoff)), "topics": .array(fixture.topics.map { .string($0) }),
            "status": .string(status),
        ]
    }

    private func call(_ method: String, _ path: String, _ body: JSONOutput?, answers: [Int] = [200, 202]) async {
        let answer = await stage.client(tallies).call(
            method,
            path,
            body?.bytes ?? [],
            by: .now + .seconds(options.patienceSeconds)
        )
        if let answer, answers.contains(answer.status) { return }
        book.complain("\(method) \(path): " + (answer.map { "\($0.status) \($0.text)" } ?? "no answer"))
    }

    // MARK: - Watching

    /// Reads APNs' list five times a second, and tells how things are going.
    private func watch() async {
        while !Task.isCancelled {
            let asked = clock.real
            if let ids = try? await stage.simulator.channels() {
                book.saw(ids, asked: asked, answered: clock.now)
                let state = book.values
                Terminal.progress(
                    "\(ids.count) channels, \(state.most) at most; \(killer.counts.kills) kills, "
                        + "\(state.matches.values.count { $0.overAt != nil }) of \(options.matches) matches over"
                )
            }
            await stage.fleet.look()
            try? await Task.sleep(for: .milliseconds(200))
        }
    }

    // MARK: - The end

    /// What is not done yet: channels that are open, in doubt, or to be looked at again.
    private static let unsettled = """
        SELECT (SELECT count(*) FROM channels WHERE state = 'open' OR creating_at IS NOT NULL OR next_at IS NOT NULL)
             + (SELECT count(*) FROM matches WHERE end_version IS NULL AND deleted_at IS NULL)
        """

    private func settle() async throws(Failure) -> Duration {
        let begin = ContinuousClock.now
        while true {
            let left = try await stage.cluster.rows(Self.unsettled) { Int($0.int(0)) }.first ?? 0
            let waited = begin.duration(to: .now)
            if left == 0 || waited > .seconds(options.patienceSeconds) || Task.isCancelled { return waited }
            try? await Task.sleep(for: .milliseconds(200))
            // Where the clock can be set on, nobody waits for it.
            if options.skipSeconds > 0, begin.duration(to: .now) > .seconds(2) { await killer.skip(clock) }
        }
    }

    private func figures(_ imports: SeasonImports) async throws(Failure) -> SeasonFigures {
        let owners = try await stage.cluster.rows("SELECT channel_id, match_id FROM channel_ids") {
            ($0.text(0), $0.text(1))
        }
        let byID = Dictionary(owners) { $1 }
        book.judge(byID)
        let left = try await stage.simulator.channels()
        let ledger =
            try await stage.cluster.rows(
                "SELECT count(*) FROM channels WHERE state = 'open' OR creating_at IS NOT NULL OR next_at IS NOT NULL"
            ) { Int($0.int(0)) }.first ?? 0
        if !left.isEmpty { book.complain("\(left.count) channels are left at APNs: \(left.prefix(3))") }
        if ledger != 0 { book.complain("\(ledger) channels are left in the ledger") }
        try await audit()
        for text in await stage.fleet.misdeeds + tallies.values.misdeeds { book.complain(text) }
        let (state, kills) = (book.values, killer.counts)
        let counts = try await stage.simulator.counts().requests
        return SeasonFigures(
            seed: options.seed,
            fixtures: options.matches,
            fates: Dictionary(grouping: plan.fixtures, by: \.fate.rawValue).mapValues(\.count),
            kills: kills.kills,
            kills_of_all: kills.ofAll,
            skipped_seconds: kills.skipped,
            imports: imports.runs,
            imports_broken_off: imports.brokenOff,
            readings: state.readings,
            channels_seen: state.sightings.count,
            channels_most: state.most,
            channels_allowed: state.allowed,
            creations: counts["create"] ?? 0,
            deletions: counts["delete"] ?? 0,
            matches_without_channel: options.matches - Set(byID.values).count,
            longest_stay_seconds: book.longestStay(byID),
            settled_seconds: 0,
            channels_left: left.count,
            ledger_left: ledger,
            problem_count: state.problemCount,
            problems: state.problems
        )
    }

    private struct Audit: Decodable {
        struct Item: Decodable {
            let used: Int
            let open: Int
        }

        let items: [Item]
    }

    /// The product's own word for it.
    private func audit() async throws(Failure) {
        let answer = try await stage.touchline(["channel", "audit", "--json"], by: .now + .seconds(60))
        guard let answer, answer.isDone,
            let audit = try? JSONDecoder().decode(Audit.self, from: Data(answer.output.utf8))
        else { return book.complain("touchline channel audit failed: \(answer?.output ?? "no service runs")") }
        if audit.items.contains(where: { $0.used != 0 || $0.open != 0 }) {
            book.complain("touchline channel audit says: \(answer.output.trimmed)")
        }
    }

    private func report(_ figures: SeasonFigures, seconds: Double) async throws(Failure) -> Report {
        var report = Report(test: "season", command: options.command)
        let counts = try await stage.simulator.counts()
        report.outcomes = counts.answers
        report.pushes = counts.requests.values.reduce(0, +)
        report.accepted = counts.answers["200"] ?? 0
        report.seconds = seconds
        report.connections = counts.connections
        report.settings = options.settings
        report.machine = .here()
        report.season = figures
        if figures.problem_count > 0 {
            report.complaints = ["seed \(options.seed): \(figures.problem_count) promises broken"]
        }
        return report
    }
}
