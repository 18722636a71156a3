internal import APNs
internal import APNsProtocol
internal import EventLoop
internal import Executables
import FoundationEssentials

/// Ours and h2load in turn, each as a process of its own, against one listener.
struct BaselineRun {
    let options: PoolOptions
    let rounds: Int
    let workplace: Workplace

    /// Runs all rounds and compares.
    ///
    /// - Returns: The report of that run of ours whose CPU a push is the median, with the baseline in it.
    func run() async throws(Failure) -> Report {
        let tool = try await H2Load.find()
        // h2load does not know that APNs takes one stream until it has seen a provider token: it may begin with all.
        var arguments = ["--lean", "--rtt", String(options.sink.roundTripMilliseconds), "--seed", String(options.seed)]
        arguments += ["--initial-streams", String(options.streams), "--max-streams", String(options.streams)]
        let sink = try await workplace.startSimulator(arguments)
        let theirs = try await theirArguments(sink.ready)
        var reports: [Report] = []
        var results: [BaselineFigures.Round] = []
        for round in 1...rounds {
            // Who goes first changes, so that a machine that slows down favours neither.
            var ours: (BaselineFigures.Side, Report)?
            if round % 2 == 1 { ours = try await runOurs(round, sink) }
            let other = try await runTheirs(tool, theirs, round, sink)
            let mine = if let ours { ours } else { try await runOurs(round, sink) }
            reports.append(mine.1)
            results.append(BaselineFigures.Round(ours: mine.0, theirs: other))
        }
        Terminal.endProgress()
        let baseline = BaselineFigures(
            tool: "h2load",
            version: tool.version,
            command: (["h2load"] + theirs).map(PoolRun.quoted).joined(separator: " "),
            rounds: results,
            notes: notes
        )
        return report(reports, baseline)
    }

    private var notes: [String] {
        var notes = [
            "h2load sends one and the same apns-id with every push, and \(Self.pathCount.grouped) paths in turn; ours has an "
                + "id and a token for each.",
            "Both are measured as processes from start to end (wait4), ours with its sums, counters and retries.",
        ]
        if options.rate != nil {
            notes.append(
                "h2load --rps sends what has become due every 10 ms; ours every \(options.tickMilliseconds) ms."
            )
        }
        return notes
    }

    // MARK: - The two

    private func runOurs(
        _ round: Int,
        _ sink: Workplace.Started<SimulatorReady>
    ) async throws(Failure) -> (BaselineFigures.Side, Report) {
        Terminal.progress("round \(round) of \(rounds): ours")
        let file = "\(workplace.folder)/ours-\(round).json"
        var arguments = [
            "pool", "--simulator", sink.readyFile, "--quiet", "--json", file, "--seed", String(options.seed),
            "--connections", String(options.connections), "--streams", String(options.streams),
            "--payload-bytes", String(options.payloadBytes), "--batch", String(options.batch),
            "--deadline", String(options.deadlineSeconds), "--late", String(options.lateMilliseconds),
            "--pushes", String(pushes),
        ]
        if let rate = options.rate {
            arguments += ["--rate", String(rate), "--tick", String(options.tickMilliseconds)]
        }
        let (usage, busy, output) = try await measured("\(try Workplace.ownFolder())/loadtest", arguments, sink)
        guard let report = try? Report(json: try File.read(file)) else {
            throw Failure(.failed, "a run of ours failed: \(output.trimmed)")
        }
        let side = BaselineFigures.Side(
            cpu_us_per_push: usage.cpu.seconds * 1e6 / Double(pushes),
            pushes_per_second: report.pushes_per_second,
            seconds: report.seconds,
            peak_rss_bytes: usage.peakBytes,
            sink_busy: busy / report.seconds,
            p50_us: report.latency_us.p50,
            p99_us: report.latency_us.p99
        )
        return (side, report)
    }

    private func runTheirs(
        _ tool: H2Load,
        _ arguments: [String],
        _ round: Int,
        _ sink: Workplace.Started<SimulatorReady>
    ) async throws(Failure) -> BaselineFigures.Side {
        Terminal.progress("round \(round) of \(rounds): h2load")
        let (usage, busy, output) = try await measured(tool.executable, arguments, sink)
        guard let result = H2Load.parse(output) else { throw Failure(.failed, "h2load said: \(output.trimmed)") }
        guard result.succeeded == pushes else {
            throw Failure(.failed, "h2load got \(result.succeeded) answers of \(pushes): \(output.trimmed)")
        }
        return BaselineFigures.Side(
            cpu_us_per_push: usage.cpu.seconds * 1e6 / Double(pushes),
            pushes_per_second: result.pushesPerSecond,
            seconds: result.seconds,
            peak_rss_bytes: usage.peakBytes,
            sink_busy: busy / result.seconds
        )
    }

    /// Runs a program to its end.
    ///
    /// - Returns: What it used, the CPU seconds of the listener meanwhile, and what it wrote.
    private func measured(
        _ executable: String,
        _ arguments: [String],
        _ sink: Workplace.Started<SimulatorReady>
    ) async throws(Failure) -> (ChildProcess.Usage, Double, String) {
        var run = ChildProcess.Options(executable, arguments)
        run.output = .kept
        let before = ProcessUsage.cpu(of: sink.process.processID)
        let process = try workplace.launch(run, executable)
        let limit = Duration.seconds(600 + pushes / 1000)
        guard await process.waitForEnd(by: .now + limit) != nil, let usage = process.usage else {
            process.signal(9)
            throw Failure(.failed, "\(executable) did not end within \(limit)")
        }
        let after = ProcessUsage.cpu(of: sink.process.processID)
        guard let before, let after else { throw Failure(.failed, "the simulator has ended") }
        return (usage, (after - before).seconds, process.output)
    }

    // MARK: - The same for both

    private var pushes: Int {
        options.pushes ?? (options.rate ?? 100_000) * (options.seconds ?? 10)
    }

    private static let pathCount = 10_000

    private func theirArguments(_ ready: SimulatorReady) async throws(Failure) -> [String] {
        let load = try PoolLoad(options)
        let uris = load.tokens(group: 1, count: Self.pathCount).map { "https://\(ready.production.push)\($0.path)\n" }
        try write(Array(uris.joined().utf8), to: "\(workplace.folder)/uris")
        try write(load.payload, to: "\(workplace.folder)/body")
        var arguments = [
            "-n", String(pushes), "-c", String(options.connections), "-m", String(options.streams), "-t", "1",
            "-i", "\(workplace.folder)/uris", "-d", "\(workplace.folder)/body",
        ]
        let tokens = try PoolSink.tokens(of: ready, tenants: 1)
        let one = load.batch(load.tokens(group: 1, count: 1)[...], first: 1, tenant: 0, due: .now).recipients[0]
        let fields = load.tokenHeaders.fields(route: one.route, id: one.id)
        do throws(ProviderTokenError) {
            let token = try await tokens.token(for: PoolLoad.credential(0))
            arguments += ["-H", "authorization: bearer \(token)"]
        } catch {
            throw Failure(.failed, "no provider token: \(error)")
        }
        for field in fields { arguments += ["-H", "\(field.name): \(field.value)"] }
        if let rate = options.rate {
            arguments.append("--rps=\((Double(rate) / Double(options.connections)).text(3))")
        }
        return arguments
    }

    private func write(_ bytes: [UInt8], to file: String) throws(Failure) {
        do {
            try Data(bytes).write(to: URL(filePath: file))
        } catch {
            throw Failure(.failed, "cannot write \(file)")
        }
    }

    /// The median run of ours, with all rounds' losses.
    private func report(_ reports: [Report], _ baseline: BaselineFigures) -> Report {
        let order = zip(reports, baseline.rounds).sorted { $0.1.ours.cpu_us_per_push < $1.1.ours.cpu_us_per_push }
        var report = order[order.count / 2].0
        let busy = order[order.count / 2].1.ours.sink_busy
        report.command = PoolRun.command
        report.lost = reports.reduce(0) { $0 + $1.lost }
        report.doubled = reports.reduce(0) { $0 + $1.doubled }
        report.complaints = reports.flatMap(\.complaints)
        report.sink.busy = busy
        report.sink.cpu_us_per_push = busy * report.seconds * 1e6 / Double(max(1, report.pushes))
        report.sink.is_bound = busy > report.busy && busy > 0.9
        report.settings["rounds"] = .number(rounds)
        report.settings["rtt_ms"] = .number(options.sink.roundTripMilliseconds)
        report.settings["sink"] = .text(options.sink.name)
        report.baseline = baseline
        return report
    }
}
