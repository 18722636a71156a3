internal import Core
internal import EventLoop
internal import Executables

/// One run of `loadtest path`.
struct PathRun {
    private let options: PathOptions
    private let stage: ServiceStage
    private let phones: Phones

    /// Starts everything, plays the matches, checks the phones.
    static func run(_ options: PathOptions, in workplace: Workplace) async throws(Failure) -> Report {
        let stage = try await ServiceStage.prepare(
            in: workplace,
            simulatorArguments: options.simulatorArguments,
            tenants: options.tenants,
            matches: options.matches,
            hasChannels: options.channelPhones > 0
        )
        return try await PathRun(options: options, stage: stage, phones: Phones(seed: options.seed)).measured()
    }

    private func measured() async throws(Failure) -> Report {
        try await registerAll()
        if let faults = options.faults { try await stage.simulator.setFaults(faults.json) }
        let before = try await stage.simulator.counts()
        let feed = EventFeed(matches: stage.matches, perSecond: Double(options.rate), keyShare: options.keyShare)
        let meter = ServiceMeter(stage)
        async let late = Result.of { () async throws(Failure) in try await registerMeanwhile() }
        let scores = try await feed.run(count: options.events)
        let registered = try await late.get()
        let finals = try await feed.finish(scores)
        var books = PathBooks(phones: phoneCount + registered, isLean: options.isLean)
        for match in stage.matches {
            books.add(try await match.settledDeliveries(within: .seconds(options.patienceSeconds)))
        }
        let cost = meter.reading
        books.sink = try await stage.simulator.counts().since(before)
        if !options.isLean { try await books.look(at: stage.simulator, finals, within: .seconds(30)) }
        var report = Report(test: "path", command: PoolRun.command)
        books.write(into: &report)
        cost.write(into: &report)
        report.parts.append(
            Report.Part(name: "events' answers", count: feed.latencies.count, latency_us: feed.latencies.figures)
        )
        report.settings = options.settings
        return report
    }

    private var phoneCount: Int { options.matches * (options.tokens + options.channelPhones) }

    // MARK: - Phones

    /// Before kick-off, ten thousand at a time.
    private func registerAll() async throws(Failure) {
        for match in stage.matches {
            if options.channelPhones > 0 {
                let channel = try await stage.channel(of: match)
                if !options.isLean {
                    try await stage.simulator.register(
                        [["channel": .string(channel), "count": .int(options.channelPhones)]]
                    )
                }
            }
            try await register(0..<options.tokens, with: match)
            Terminal.progress("phones of \((match.number + 1).grouped) of \(options.matches.grouped) matches")
        }
        Terminal.endProgress()
    }

    private func register(_ numbers: Range<Int>, with match: ServiceStage.Match) async throws(Failure) {
        for start in stride(from: numbers.lowerBound, to: numbers.upperBound, by: 10_000) {
            let part = start..<min(start + 10_000, numbers.upperBound)
            if !options.isLean {
                try await stage.simulator.register(
                    part.map { ["token": .string(phones.token($0, match: match.number))] }
                )
            }
            let stored = try await phones.register(part, with: match)
            guard stored == part.count else {
                throw Failure(.failed, "\(stored) of \(part.count) update tokens of \(match.id) were stored")
            }
        }
    }

    /// Phones that come while events go out, 100 at a time, the matches in turn.
    ///
    /// - Returns: How many.
    private func registerMeanwhile() async throws(Failure) -> Int {
        let begin = ContinuousClock.now
        var count = 0
        while count < options.registrations {
            let due = begin + .seconds(Double(count) / Double(options.registrationRate))
            if due > .now { try? await Task.sleep(until: due, clock: .continuous) }
            let batch = count / 100
            let part = min(100, options.registrations - count)
            let first = options.tokens + batch / options.matches * 100
            try await register(first..<first + part, with: stage.matches[batch % options.matches])
            count += part
        }
        return count
    }
}
