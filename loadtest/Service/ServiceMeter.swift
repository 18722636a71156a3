/// Measures what a stretch of a run costs the service and its simulator: begun when it is made.
struct ServiceMeter {
    private let stage: ServiceStage
    private let serviceCPU: Duration
    private let simulatorCPU: Duration
    private let begin = ContinuousClock.now

    init(_ stage: ServiceStage) {
        self.stage = stage
        serviceCPU = stage.serviceCPU
        simulatorCPU = stage.simulatorCPU
    }

    /// What it has cost so far.
    var reading: Reading {
        Reading(
            seconds: begin.duration(to: .now).seconds,
            service: (stage.serviceCPU - serviceCPU).seconds,
            simulator: (stage.simulatorCPU - simulatorCPU).seconds,
            peakBytes: stage.servicePeakBytes
        )
    }

    struct Reading {
        let seconds: Double
        /// CPU seconds of the service's own process, and of the simulator's.
        let service: Double
        let simulator: Double
        let peakBytes: Int

        /// The report's pushes are to be counted already.
        func write(into report: inout Report) {
            let pushes = Double(max(1, report.pushes))
            report.seconds = seconds
            report.pushes_per_second = pushes / seconds
            report.busy = service / seconds
            report.cpu_us_per_push = service * 1e6 / pushes
            report.sink.busy = simulator / seconds
            report.sink.cpu_us_per_push = simulator * 1e6 / pushes
            report.peak_rss_bytes = peakBytes
            report.machine = .here()
        }
    }
}
