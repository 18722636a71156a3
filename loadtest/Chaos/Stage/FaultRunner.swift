internal import EventLoop
internal import Executables
import FoundationEssentials

/// Does what a plan says, when it says so.
final class FaultRunner: Sendable {
    private let fleet: Fleet
    private let cluster: ChaosCluster
    private let host: ChaosHost
    private let scripted: ScriptedFaults
    private let services: Int
    /// Takes a line for each fault as it begins.
    private let report: @Sendable (String) -> Void
    private let state = ThreadLock<[FaultRecord]>([])

    init(
        _ stage: ChaosStage,
        services: Int,
        report: @escaping @Sendable (String) -> Void
    ) {
        fleet = stage.fleet
        cluster = stage.cluster
        host = stage.host
        scripted = stage.scripted
        self.services = services
        self.report = report
    }

    /// What has happened, those under way included: they last until now.
    var records: [FaultRecord] { state.withLock { $0 } }

    /// Returns when all of it is over and every service runs again.
    func run(_ plan: ChaosPlan, from begin: ContinuousClock.Instant) async {
        await withDiscardingTaskGroup { group in
            for fault in plan.faults {
                let due = begin + .milliseconds(fault.atMilliseconds)
                try? await Task.sleep(until: due, clock: .continuous)
                guard !Task.isCancelled else { return }
                report(fault.line)
                group.addTask { await self.run(fault) }
            }
        }
        await scripted.endAll()
    }

    private func run(_ fault: ChaosFault) async {
        let index = state.withLock { records in
            records.append(FaultRecord(fault: fault, begin: Self.now, end: .infinity))
            return records.count - 1
        }
        await perform(fault, for: .milliseconds(fault.milliseconds))
        state.withLock { $0[index].end = Self.now }
    }

    private func perform(_ fault: ChaosFault, for length: Duration) async {
        let soon = ContinuousClock.Instant.now + .seconds(60)
        switch fault.kind {
        case .kill:
            await fleet.kill(fault.service)
            try? await Task.sleep(for: length)
            try? await fleet.start(fault.service)
        case .drain:
            await fleet.drain(fault.service)
            try? await Task.sleep(for: length)
            try? await fleet.start(fault.service)
        case .stop, .hang: await fleet.stop(fault.service, for: length)
        case .killAll:
            await withDiscardingTaskGroup { group in
                for number in 0..<services { group.addTask { await self.fleet.kill(number) } }
            }
            try? await Task.sleep(for: length)
            await withDiscardingTaskGroup { group in
                for number in 0..<services { group.addTask { try? await self.fleet.start(number) } }
            }
        case .databaseKill:
            await cluster.kill(for: length)
            await cluster.waitUntilItAnswers(by: soon)
        case .databaseRestart:
            await cluster.restart(after: length)
            await cluster.waitUntilItAnswers(by: soon)
        case .databaseCut: await cluster.cut(everyOther: fault.form % 3 == 0)
        case .databaseFreeze: await cluster.freeze(for: length)
        case .clockStep:
            host.clock?.set(fault.clockSeconds)
            try? await Task.sleep(for: length)
            host.clock?.set(0)
        case .poolerRestart: await host.pooler?.restart(after: length)
        case .poolerFreeze: await host.pooler?.freeze(for: length)
        case .diskFull:
            await host.disk?.fill(for: length)
            await cluster.waitUntilItAnswers(by: soon)
        default: await performAtAPNs(fault, for: length)
        }
    }

    private func performAtAPNs(_ fault: ChaosFault, for length: Duration) async {
        var number: Int?
        if let rule = fault.rule { number = await scripted.begin(rule) }
        if let action = fault.disturbance { await scripted.disturb(action) }
        try? await Task.sleep(for: length)
        if let number { await scripted.end(number) }
    }

    private static var now: Double { Date.now.timeIntervalSince1970 }
}

/// A fault, and when it was: UNIX seconds.
struct FaultRecord: Sendable {
    let fault: ChaosFault
    let begin: Double
    /// Infinite while it lasts.
    var end: Double
}
