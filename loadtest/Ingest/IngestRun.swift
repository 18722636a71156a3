internal import EventLoop
internal import Executables
import Synchronization

/// One run of `loadtest ingest`.
struct IngestRun {
    private let options: IngestOptions
    private let stage: ServiceStage
    private let phones: Phones

    static func run(_ options: IngestOptions, in workplace: Workplace) async throws(Failure) -> Report {
        let stage = try await ServiceStage.prepare(
            in: workplace,
            simulatorArguments: ["--lean"],
            tenants: options.tenants,
            matches: options.matches,
            hasChannels: false
        )
        return try await IngestRun(options: options, stage: stage, phones: Phones(seed: options.seed)).measured()
    }

    /// What calls of one kind came to.
    private struct Part {
        let stored: Int
        let seconds: Double
        let latencies: SharedHistogram
    }

    private func measured() async throws(Failure) -> Report {
        let feed = EventFeed(matches: stage.matches, perSecond: Double(options.eventRate), keyShare: options.keyShare)
        let meter = ServiceMeter(stage)
        let isOver = Flag()
        async let scores = Result.of { () async throws(Failure) in
            try await feed.run(count: nil) { isOver.isSet }
        }
        let bulk: Part
        do throws(Failure) { bulk = try await registerInBulk() } catch {
            isOver.set()
            throw error
        }
        isOver.set()
        let played = try await scores.get()
        // Single calls are measured by themselves, when what came in bulk has its pushes.
        let bulkEnd = ContinuousClock.now
        _ = try await settled()
        let settling = bulkEnd.duration(to: .now)
        let singles = try await registerSingles()
        _ = try await feed.finish(played)
        let (outcomes, reached) = try await settled()
        let cost = meter.reading
        var report = Report(test: "ingest", command: PoolRun.command)
        report.outcomes = outcomes
        report.pushes = outcomes.values.reduce(0, +)
        report.accepted = outcomes["accepted"] ?? 0
        cost.write(into: &report)
        report.latency_us = bulk.latencies.figures
        report.parts = [
            Self.part("bulk, \(options.linesPerCall) a call", bulk),
            Self.part("single PUTs", singles),
            Report.Part(name: "events' answers", count: feed.latencies.count, latency_us: feed.latencies.figures),
        ]
        report.settings = options.settings
        report.settings["settled_after_ms"] = .number(Double(settling / .milliseconds(1)))
        balance(&report, stored: bulk.stored + singles.stored, reached: reached)
        return report
    }

    /// Waits until nothing is due.
    ///
    /// - Returns: What became of all pushes, and how many phones the newest versions have reached.
    private func settled() async throws(Failure) -> (outcomes: [String: Int], reached: Int) {
        var reached = 0
        var outcomes: [String: Int] = [:]
        for match in stage.matches {
            let deliveries = try await match.settledDeliveries(within: .seconds(options.patienceSeconds))
            for send in deliveries.sends {
                outcomes["accepted", default: 0] += send.accepted
                if send.versions.last == deliveries.version { reached += send.accepted }
            }
        }
        return (outcomes, reached)
    }

    private static func part(_ name: String, _ part: Part) -> Report.Part {
        Report.Part(
            name: name,
            count: part.stored,
            per_second: Double(part.stored) / max(0.001, part.seconds),
            latency_us: part.latencies.figures
        )
    }

    private func balance(_ report: inout Report, stored: Int, reached: Int) {
        let wanted = options.registrations + options.singles
        report.sums = [
            Report.SumLine(
                what: "registrations, and those stored",
                ours: wanted,
                theirs: stored,
                isRight: wanted == stored
            ),
            Report.SumLine(
                what: "phones that the last events reached, and those stored",
                ours: reached,
                theirs: stored,
                isRight: reached == stored
            ),
        ]
        report.lost = max(0, stored - reached)
        for line in report.sums where !line.isRight {
            report.complaints.append("\(line.what): \(line.ours), not \(line.theirs ?? 0)")
        }
    }

    // MARK: - Calls

    /// Calls take the matches in turn; each is due at its time, where there is a rate.
    private func registerInBulk() async throws(Failure) -> Part {
        let (size, begin) = (options.linesPerCall, ContinuousClock.now)
        let calls = (options.registrations + size - 1) / size
        let clients = try clients(options.bulkConnections)
        let latencies = SharedHistogram()
        let stored = try await share(calls, among: clients) { call, clients throws(Failure) in
            var due = ContinuousClock.now
            if let rate = options.rate {
                due = begin + .seconds(Double(call * size) / Double(rate))
                if due > .now { try? await Task.sleep(until: due, clock: .continuous) }
            }
            let match = stage.matches[call % options.matches]
            let first = call / options.matches * size
            let count = min(size, options.registrations - call * size)
            let mine = ServiceStage.Match(number: match.number, api: clients[match.number % options.tenants])
            let stored = try await phones.register(first..<first + count, with: mine)
            latencies.record(due.duration(to: .now))
            return stored
        }
        return Part(stored: stored, seconds: begin.duration(to: .now).seconds, latencies: latencies)
    }

    private func registerSingles() async throws(Failure) -> Part {
        let begin = ContinuousClock.now
        let clients = try clients(options.connections)
        let latencies = SharedHistogram()
        // Behind the numbers that came in bulk.
        let first = options.registrations
        let stored = try await share(options.singles, among: clients) { call, clients throws(Failure) in
            let match = stage.matches[call % options.matches]
            let started = ContinuousClock.now
            _ = try await clients[match.number % options.tenants].send(
                "PUT",
                match.path("activities/a-\(first + call)"),
                bytes: phones.body(first + call, match: match.number)
            )
            latencies.record(started.duration(to: .now))
            return 1
        }
        return Part(stored: stored, seconds: begin.duration(to: .now).seconds, latencies: latencies)
    }

    /// So many connections, each with a client a tenant.
    private func clients(_ count: Int) throws(Failure) -> [[APIClient]] {
        var clients: [[APIClient]] = []
        for _ in 0..<count {
            let first = try APIClient.connecting(to: stage.url, key: stage.keys[0], patience: .seconds(20))
            clients.append(
                stage.keys.map { key in
                    var client = first
                    client.key = key
                    return client
                }
            )
        }
        return clients
    }

    /// Runs the calls, one at a time on each connection.
    ///
    /// - Returns: The sum of what they resend.
    private func share(
        _ calls: Int,
        among clients: [[APIClient]],
        _ call: @escaping @Sendable (Int, [APIClient]) async throws(Failure) -> Int
    ) async throws(Failure) -> Int {
        let tickets = Tickets(limit: calls, end: nil)
        let result = ThreadLock<Result<Int, Failure>>(.success(0))
        await withDiscardingTaskGroup { group in
            for client in clients {
                group.addTask {
                    while let number = tickets.take(1).first {
                        do throws(Failure) {
                            let count = try await call(number, client)
                            result.withLock { $0 = $0.map { $0 + count } }
                        } catch {
                            return result.withLock { $0 = .failure(error) }
                        }
                    }
                }
            }
        }
        for client in clients { await client[0].close() }
        return try result.withLock { $0 }.get()
    }
}

/// Set once, by whoever ends what others go on with.
private final class Flag: Sendable {
    private let value = Atomic<Bool>(false)

    var isSet: Bool { value.load(ordering: .relaxed) }

    func set() { value.store(true, ordering: .relaxed) }
}
