import APNs
internal import APNsProtocol
internal import EventLoop
internal import Executables

/// One run of `loadtest pool`.
struct PoolRun {
    private let options: PoolOptions
    private let sink: PoolSink
    private let load: PoolLoad
    private let pool: SenderPool
    private let loops: [EventLoop]
    private let tally = PoolTally()
    private let troubles: Troubles

    /// Starts the other end, sends, checks the sums.
    static func run(_ options: PoolOptions, in workplace: Workplace) async throws(Failure) -> Report {
        if let rounds = options.baselineRounds {
            return try await BaselineRun(options: options, rounds: rounds, workplace: workplace).run()
        }
        let load = try PoolLoad(options)
        let sink = try await PoolSink.open(options, in: workplace)
        return try await PoolRun(options, load, sink).measured()
    }

    private init(_ options: PoolOptions, _ load: PoolLoad, _ sink: PoolSink) throws(Failure) {
        self.options = options
        self.load = load
        self.sink = sink
        var loops: [EventLoop] = []
        do throws(EventLoopError) {
            for number in 0..<options.loops { loops.append(try EventLoop(name: "pool-\(number)")) }
        } catch {
            throw Failure(.failed, "no event loop: \(error)")
        }
        self.loops = loops
        let troubles = Troubles()
        self.troubles = troubles
        var endpoints = APNsEndpoints()
        endpoints[.production, .push] = APNsEndpoint(host: sink.endpoint.host, port: sink.endpoint.port)
        var configuration = SenderPoolConfiguration(endpoints: endpoints, tls: sink.tls, loops: loops)
        configuration.connectionsPerLane = options.connections
        configuration.streamsPerConnection = options.streams
        configuration.report = { troubles.add($0) }
        pool = SenderPool(configuration: configuration, providerTokens: sink.tokens)
    }

    private func measured() async throws(Failure) -> Report {
        let before = try await sink.control?.counts()
        // The first sleep opens a timer of the runtime's own, which stays: it is no leak of the pool's.
        try? await Task.sleep(for: .milliseconds(1))
        let descriptors = ProcessUsage.ownDescriptors
        let meter = RunMeter(goal: options.seconds == nil ? options.pushes : nil) { [tally, pool] in
            let gauges = pool.gauges
            return RunMeter.Reading(
                done: tally.doneCount,
                inFlight: gauges.inFlight,
                waiting: gauges.waiting,
                connections: gauges.connections
            )
        }
        await meter.start()
        let sinkCPU = sink.process.flatMap(ProcessUsage.cpu(of:))
        let cpu = ProcessUsage.ownCPU
        let begin = ContinuousClock.now
        await send(until: options.seconds.map { begin + .seconds($0) })
        var report = Report(test: "pool", command: Self.command)
        report.seconds = begin.duration(to: .now).seconds
        let used = (ProcessUsage.ownCPU - cpu).seconds
        let sinkUsed = sink.process.flatMap(ProcessUsage.cpu(of:)).flatMap { after in
            sinkCPU.map { (after - $0).seconds }
        }
        let counts = pool.counts
        report.samples = await meter.stop()
        report.memory = MemoryFigures(report.samples)
        await pool.drain(by: .now + .seconds(5))
        report.descriptors = Report.Descriptors(before: descriptors, after: ProcessUsage.ownDescriptors)
        let after = try await sink.control?.counts()
        fill(&report, counts, used: used, sinkUsed: sinkUsed)
        let books = PoolBooks(
            offered: tally.offered,
            outcomes: tally.outcomes,
            resent: counts.resent,
            sink: after.flatMap { after in before.map { after.since($0) } },
            countsDoubles: options.sink.isFaithful || options.sink.countsDoubles
        )
        books.write(into: &report)
        report.said = troubles.all
        if report.accepted == 0, let trouble = troubles.last { report.complaints.append(trouble) }
        return report
    }

    private func send(until end: ContinuousClock.Instant?) async {
        let tickets = Tickets(limit: options.pushes, end: end)
        if let rate = options.rate {
            await OpenLoop(options: options, load: load, pool: pool, tally: tally, rate: rate, loop: loops[0]).run(
                tickets
            )
        } else {
            await ClosedLoop(options: options, load: load, pool: pool, tally: tally).run(tickets)
        }
    }

    private func fill(_ report: inout Report, _ counts: PoolCounts, used: Double, sinkUsed: Double?) {
        let pushes = Double(max(1, tally.offered))
        report.pushes_per_second = pushes / report.seconds
        report.cpu_us_per_push = used * 1e6 / pushes
        report.busy = used / report.seconds
        report.peak_rss_bytes = ProcessUsage.ownPeakBytes
        report.latency_us = LatencyFigures(pool.latencies)
        report.late = LatencyHistogram.count(
            above: options.lateMilliseconds * 1000,
            of: pool.latencies
        )
        if options.mix.channels > 0 {
            let channels = tally.channelLatencies
            report.parts.append(
                Report.Part(
                    name: "channels",
                    count: channels.reduce(0) { $0 + $1.count },
                    latency_us: LatencyFigures(channels)
                )
            )
            let written = pool.urgentQueueTimes
            report.parts.append(
                Report.Part(
                    name: "channels, until written",
                    count: written.reduce(0) { $0 + $1.count },
                    latency_us: LatencyFigures(written)
                )
            )
        }
        report.sink.cpu_us_per_push = sinkUsed.map { $0 * 1e6 / pushes }
        report.sink.busy = sinkUsed.map { $0 / report.seconds }
        report.sink.is_bound = report.sink.busy.map { $0 > report.busy && $0 > 0.9 } ?? false
        report.connections = counts.connectionsOpened
        report.resent = counts.resent
        report.settings = options.settings
        report.machine = .here()
    }

    /// The line that repeats this run.
    static var command: String {
        (["loadtest"] + CommandLine.arguments.dropFirst()).map(quoted).joined(separator: " ")
    }

    static func quoted(_ word: String) -> String {
        let isPlain =
            !word.isEmpty
            && word.utf8.allSatisfy { byte in
                (0x2B...0x3A).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
                    || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "=")
            }
        return isPlain
            ? word : "'" + word.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
    }
}

/// What the pool has to say of its connections: the last sentence is shown where nothing was accepted.
private final class Troubles: Sendable {
    /// Distinct ones: they name endpoints and reasons, and few differ.
    private static let limit = 50
    private let sentences = ThreadLock<[String]>([])

    func add(_ sentence: String) {
        sentences.withLock { sentences in
            sentences.removeAll { $0 == sentence }
            sentences.append(sentence)
            if sentences.count > Self.limit { sentences.removeFirst() }
        }
    }

    var all: [String] { sentences.withLock { $0 } }
    var last: String? { all.last }
}
