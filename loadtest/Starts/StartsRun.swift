internal import Core
internal import EventLoop
internal import Executables
import FoundationEssentials
internal import PostgreSQL

/// One run of `loadtest starts`.
struct StartsRun {
    let options: StartsOptions
    let stage: FleetStage
    let tallies = CallTallies()

    /// Starts everything, kills it in the middle of the starts, and counts what came.
    static func run(_ options: StartsOptions, in workplace: Workplace) async throws(Failure) -> Report {
        Terminal.progress("starting PostgreSQL, the simulator and \(options.services) services")
        let stage = try await FleetStage.prepare(
            in: workplace,
            services: options.services,
            simulatorArguments: ["--seed", String(options.seed), "--rtt", String(options.rtt)],
            settings: [("channels", "none")]
        )
        let run = StartsRun(options: options, stage: stage)
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
        var dice = Dice(seed: options.seed, stream: "kills")
        var figures = StartsFigures(seed: options.seed, devices: options.devices, rounds: [], problems: [])
        for number in 0..<options.rounds {
            Terminal.progress("round \(number + 1) of \(options.rounds)")
            figures.rounds.append(try await round(number, &dice))
        }
        for (number, round) in figures.rounds.enumerated() {
            figures.problems += round.problems.map { "round \(number + 1): \($0)" }
            if round.kills.count < options.kills {
                figures.problems.append(
                    "round \(number + 1): over before \(options.kills) kills; more devices, or --rtt"
                )
            }
        }
        figures.problems += await stage.fleet.misdeeds + tallies.values.misdeeds
        var report = Report(test: "starts", command: options.command)
        let counts = try await stage.simulator.counts()
        let sum = figures.sum
        report.pushes = counts.requests["device"] ?? 0
        report.accepted = counts.answers["200"] ?? 0
        report.lost = sum.missing
        report.doubled = sum.twice
        report.outcomes = sum.states
        report.seconds = sum.seconds
        report.connections = counts.connections
        report.settings = options.settings
        report.machine = .here()
        report.starts = figures
        if !figures.problems.isEmpty {
            report.complaints = ["seed \(options.seed): \(figures.problems.count) promises broken"]
        }
        return report
    }

    // MARK: - A round

    private func round(_ number: Int, _ dice: inout Dice) async throws(Failure) -> StartsFigures.Round {
        let devices = StartDevices(seed: options.seed, round: number, count: options.devices)
        let client = stage.client(tallies)
        for lines in devices.lines {
            let answer = await client.call(
                "POST",
                "/v1/devices",
                lines,
                type: "application/x-ndjson",
                by: .now + .seconds(60)
            )
            guard let answer, answer.status == 200, !answer.text.contains(#""refused""#) else {
                throw Failure(.failed, "devices could not be registered: \(answer?.text.prefix(200) ?? "no answer")")
            }
        }
        let begin = ContinuousClock.now
        try await client.make("PUT", "/v1/matches/\(devices.match)", devices.matchBody)
        var round = StartsFigures.Round()
        round.wanted = devices.wanted.count
        // At moments that are spread over the whole of it: by how many are recorded.
        let marks = (0..<options.kills).map { _ in dice.number(in: 1...max(1, devices.wanted.count * 19 / 20)) }
            .sorted()
        for mark in marks {
            guard let recorded = try await reach(mark, of: devices.match) else { break }
            // Anywhere in a page's life.
            try? await Task.sleep(for: .microseconds(dice.number(in: 0...20_000)))
            round.kills.append(recorded)
            if options.stops {
                // Another one takes over half a minute later, and it goes on where it was.
                await stage.fleet.stop(dice.number(in: 0...options.services - 1), for: .seconds(40))
                continue
            }
            let victims = await stage.fleet.running.map(\.number)
            for victim in victims { await stage.fleet.kill(victim) }
            for victim in victims { try await stage.fleet.start(victim) }
        }
        try await finish(devices.match)
        round.seconds = begin.duration(to: .now).seconds
        try await count(devices, &round)
        return round
    }

    /// Waits until so many starts are recorded.
    ///
    /// - Returns: How many are; nil: the pass is over.
    private func reach(_ count: Int, of match: String) async throws(Failure) -> Int? {
        let end = ContinuousClock.now + .seconds(options.patienceSeconds)
        while ContinuousClock.now < end, !Task.isCancelled {
            let (state, recorded) = try await progress(of: match)
            if state == "done" || state == "cancelled" { return nil }
            if recorded >= count { return recorded }
        }
        throw Failure(.failed, "no \(count) starts were recorded within \(options.patienceSeconds) s")
    }

    private func finish(_ match: String) async throws(Failure) {
        let end = ContinuousClock.now + .seconds(options.patienceSeconds)
        while ContinuousClock.now < end, !Task.isCancelled {
            if try await progress(of: match).state == "done" { return }
            try? await Task.sleep(for: .milliseconds(50))
        }
        throw Failure(.failed, "the starts of \(match) did not come to an end within \(options.patienceSeconds) s")
    }

    private func progress(of match: String) async throws(Failure) -> (state: String, recorded: Int) {
        try await stage.cluster.rows(
            """
            SELECT p.state || CASE WHEN p.due_at IS NULL THEN '' ELSE ' and waiting' END,
                   (SELECT count(*) FROM starts s WHERE s.match_id = p.match_id)
            FROM start_passes p WHERE p.match_id = '\(match)'
            """
        ) { ($0.text(0), Int($0.int(1))) }.first ?? ("", 0)
    }

    private func count(_ devices: StartDevices, _ round: inout StartsFigures.Round) async throws(Failure) {
        let states = try await stage.cluster.rows(
            "SELECT device, state FROM starts WHERE match_id = '\(devices.match)'"
        ) { ($0.text(0), $0.text(1)) }
        for (_, state) in states { round.states[state, default: 0] += 1 }
        let byDevice = Dictionary(states) { $1 }
        let arrived = try await stage.simulator.pushesByToken()
        for (name, token) in devices.wanted {
            let (count, isUnknown) = (arrived[token] ?? 0, byDevice[name] == "unknown")
            switch count {
            case 0:
                round.missing += 1
                if !isUnknown { round.lost += 1 }
            case 1: round.once += 1
            default: round.twice += 1
            }
            if isUnknown, count > 0 { round.unknown_arrived += 1 }
        }
        let wanted = Set(devices.wanted.map(\.token))
        round.unwanted = arrived.count { !wanted.contains($0.key) && $0.value > 0 }
        try await stage.simulator.forgetPhones()
    }
}

extension StartsFigures.Round {
    /// What must not be.
    fileprivate var problems: [String] {
        [
            (twice, "devices had a start more than once"), (unwanted, "devices follow neither team and had one"),
            (lost, "devices have none, and the service does not know it"),
        ].filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
    }
}
