internal import EventLoop
internal import Executables

/// What PostgreSQL stands on in a run, as far as this machine can make it fail: its clock, its disk, and a pooler.
final class ChaosHost: Sendable {
    let clock: FakeClock?
    let disk: SmallDisk?
    let databaseFolder: String
    /// Why faults are left out, by kind.
    let leftOut: [ChaosFault.Kind: String]
    private let hasPooler: Bool
    private let started = ThreadLock<Pooler?>(nil)

    private init(
        clock: FakeClock?,
        disk: SmallDisk?,
        databaseFolder: String,
        hasPooler: Bool,
        leftOut: [ChaosFault.Kind: String]
    ) {
        self.clock = clock
        self.disk = disk
        self.databaseFolder = databaseFolder
        self.hasPooler = hasPooler
        self.leftOut = leftOut
    }

    static func prepare(_ options: ChaosOptions, in workplace: Workplace) async throws(Failure) -> ChaosHost {
        let inside = "\(workplace.folder)/database"
        guard options.groups.contains(.host) else {
            return ChaosHost(clock: nil, disk: nil, databaseFolder: inside, hasPooler: false, leftOut: [:])
        }
        var leftOut: [ChaosFault.Kind: String] = [:]
        let clock = FakeClock(in: workplace.folder)
        if clock == nil { leftOut[.clockStep] = "there is no libfaketime (Debian: faketime)" }
        // What is kept of each change for `--logs` needs room as well.
        let disk = await SmallDisk(megabytes: options.logFolder == nil ? 1_024 : 3_072)
        if disk == nil { leftOut[.diskFull] = "a small file system can be mounted by root only" }
        let hasPooler = Pooler.program != nil && options.services > 1
        if !hasPooler {
            let why = Pooler.program == nil ? "there is no pgbouncer" : "only every second service has a pooler"
            for kind in [ChaosFault.Kind.poolerRestart, .poolerFreeze] { leftOut[kind] = why }
        }
        return ChaosHost(
            clock: clock,
            disk: disk,
            databaseFolder: disk.map { "\($0.folder)/database" } ?? inside,
            hasPooler: hasPooler,
            leftOut: leftOut
        )
    }

    /// Between every second service and the database; nil where there is none.
    var pooler: Pooler? { started.withLock { $0 } }

    func startPooler(before cluster: ChaosCluster, in workplace: Workplace) async throws(Failure) {
        guard hasPooler else { return }
        let pooler = try Pooler(before: cluster, in: workplace)
        try await pooler.start()
        started.withLock { $0 = pooler }
    }

    func end() async {
        await pooler?.stop()
        await disk?.unmount()
        if clock != nil { FakeClock.removeLeftovers() }
    }
}
