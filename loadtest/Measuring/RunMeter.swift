import APNs
internal import EventLoop
internal import Executables
import Glibc

/// Looks at a run while it goes: throughput, pushes in flight, memory; shows them on a terminal, keeps them for the report.
///
/// It begins with a look every 100 ms and doubles the distance when it has seen 600, so that a run of an hour has as much
/// of a curve as one of a minute.
actor RunMeter {
    /// One look.
    struct Sample: Codable, Sendable {
        /// Since the run began, in seconds.
        var at: Double
        /// Outcomes a second since the look before.
        var per_second: Double
        var in_flight: Int
        var waiting: Int
        var connections: Int
        var rss_bytes: Int
    }

    /// What is looked at.
    struct Reading: Sendable {
        /// Pushes with an outcome, since the beginning.
        var done = 0
        var inFlight = 0
        var waiting = 0
        var connections = 0
    }

    private static let mostSamples = 600

    private let read: @Sendable () -> Reading
    private let goal: Int?
    private let begin = ContinuousClock.now
    private var interval = Duration.milliseconds(100)
    private var samples: [Sample] = []
    private var lastDone = 0
    private var lastAt = 0.0
    private var lastProgress = -1.0
    private var task: Task<Void, Never>?

    /// - Parameters:
    ///   - goal: How many there will be, for the progress.
    ///   - read: Called for each look; must be cheap.
    init(goal: Int?, _ read: @escaping @Sendable () -> Reading) {
        self.goal = goal
        self.read = read
    }

    func start() {
        task = Task { [weak self] in
            while !Task.isCancelled, let pause = await self?.interval {
                guard (try? await Task.sleep(for: pause)) != nil else { return }
                await self?.look()
            }
        }
    }

    /// The last look, and all of them.
    func stop() -> [Sample] {
        task?.cancel()
        look()
        Terminal.endProgress()
        return samples
    }

    private func look() {
        let reading = read()
        let at = begin.duration(to: .now).seconds
        // Two looks in one moment have no rate.
        guard at - lastAt > 0.001 else { return }
        let rate = Double(reading.done - lastDone) / (at - lastAt)
        samples.append(
            Sample(
                at: at,
                per_second: rate,
                in_flight: reading.inFlight,
                waiting: reading.waiting,
                connections: reading.connections,
                rss_bytes: ProcessUsage.ownBytes
            )
        )
        (lastDone, lastAt) = (reading.done, at)
        showProgress(reading, rate: rate, at: at)
        if samples.count >= Self.mostSamples { thin() }
    }

    /// Halves the looks: each is then the mean of two.
    private func thin() {
        samples = stride(from: 0, to: samples.count - 1, by: 2).map { index in
            let (left, right) = (samples[index], samples[index + 1])
            var mean = right
            mean.per_second = (left.per_second + right.per_second) / 2
            mean.in_flight = (left.in_flight + right.in_flight) / 2
            mean.waiting = (left.waiting + right.waiting) / 2
            mean.rss_bytes = max(left.rss_bytes, right.rss_bytes)
            return mean
        }
        interval *= 2
    }

    private func showProgress(_ reading: Reading, rate: Double, at: Double) {
        guard Terminal.showsProgress, at - lastProgress >= 0.25 else { return }
        lastProgress = at
        let share = goal.map { " \((Double(reading.done) / Double(max(1, $0)) * 100).text(0)) %," } ?? ""
        Terminal.progress(
            "\(at.text(1)) s,\(share) \(reading.done.grouped) done, \(Int(rate).grouped)/s, "
                + "\(reading.inFlight.grouped) in flight"
        )
    }
}
