internal import EventLoop
internal import Executables
import Glibc

/// The services of a run, which are killed, stopped, drained and started again.
actor Fleet {
    /// One running process.
    struct Member: Sendable {
        let number: Int
        let process: ChildProcess
        let connection: ServiceConnection
        let metrics: ServiceConnection?
        let log: String
        /// By SIGSTOP.
        var isStopped = false
        /// Its end is our doing.
        var isLeaving = false
    }

    private let workplace: Workplace
    private let apns: SimulatorReady
    private let arguments: [String]
    private let database: String
    private let pooled: String?
    private let loop: EventLoop
    private var members: [Int: Member] = [:]
    private var turn = 0
    /// What services did that nobody told them to.
    private(set) var misdeeds: [String] = []

    /// Orderly ends have this long, as `--drain` says.
    private static let drainSeconds = 15

    /// Starts none yet. `pooled` is the same database through a pooler, for every second service.
    init(
        _ workplace: Workplace,
        _ apns: SimulatorReady,
        database: String,
        pooled: String? = nil,
        masterKeyFile: String
    ) throws(Failure) {
        self.workplace = workplace
        self.apns = apns
        arguments = ["--master-key-file", masterKeyFile, "--drain", String(Self.drainSeconds)]
        self.database = database
        self.pooled = pooled
        do throws(EventLoopError) {
            loop = try EventLoop(name: "feed")
        } catch {
            throw Failure(.failed, "no event loop: \(error)")
        }
    }

    /// Starts one, again while PostgreSQL is away.
    func start(_ number: Int, within patience: Duration = .seconds(90)) async throws(Failure) {
        let end = ContinuousClock.now + patience
        while true {
            do throws(Failure) {
                let database = number % 2 == 1 ? pooled ?? database : database
                let started = try await workplace.startService(apns, arguments, environment: ["DATABASE_URL": database])
                let url = try ServiceURL(started.ready.url)
                let metrics = try started.ready.metrics_url.map { url throws(Failure) in try ServiceURL(url) }
                members[number] = Member(
                    number: number,
                    process: started.process,
                    connection: try ServiceConnection(url: url, caFile: nil, loop: loop),
                    metrics: try metrics.map { url throws(Failure) in
                        try ServiceConnection(url: url, caFile: nil, loop: loop)
                    },
                    log: started.log
                )
                return
            } catch {
                guard ContinuousClock.now < end, !workplace.isStopping, !Task.isCancelled else { throw error }
                try? await Task.sleep(for: .milliseconds(500))
            }
        }
    }

    /// One that runs, the next each time; nil while none does.
    func next() -> Member? {
        let running = running
        guard !running.isEmpty else { return nil }
        turn += 1
        return running[turn % running.count]
    }

    var running: [Member] {
        members.values.filter { !$0.isStopped && !$0.isLeaving && $0.process.ending == nil }
            .sorted { $0.number < $1.number }
    }

    var processes: [Int32] { members.values.filter { $0.process.ending == nil }.map(\.process.processID) }

    // MARK: - Faults

    func kill(_ number: Int) async {
        guard let member = leave(number) else { return }
        member.process.signal(SIGKILL)
        await member.process.waitForEnd()
        await close(member)
    }

    /// Stops it for `length`, then lets it go on.
    func stop(_ number: Int, for length: Duration) async {
        guard let member = members[number] else { return }
        members[number]?.isStopped = true
        member.process.signal(SIGSTOP)
        try? await Task.sleep(for: length)
        member.process.signal(SIGCONT)
        members[number]?.isStopped = false
    }

    /// Ends it in order, and says so where it does not.
    func drain(_ number: Int) async {
        guard let member = leave(number) else { return }
        let begin = ContinuousClock.now
        member.process.signal(SIGTERM)
        let ending = await member.process.waitForEnd(by: .now + .seconds(Self.drainSeconds + 10))
        if ending?.isSuccess != true {
            let seconds = begin.duration(to: .now).seconds.text(1)
            let what = ending.map { "\($0)" } ?? "still runs"
            misdeeds.append("service \(number + 1) was told to end: \(what) after \(seconds) s")
            member.process.signal(SIGKILL)
            await member.process.waitForEnd()
        }
        await close(member)
    }

    private func leave(_ number: Int) -> Member? {
        guard let member = members[number], !member.isLeaving, member.process.ending == nil else { return nil }
        members[number]?.isLeaving = true
        return member
    }

    private func close(_ member: Member) async {
        await member.connection.close()
        await member.metrics?.close()
    }

    /// Starts those again that ended by themselves, which none should.
    func look() async {
        for member in members.values where !member.isLeaving {
            guard let ending = member.process.ending else { continue }
            let lines = ((try? File.read(member.log)) ?? []).split(separator: UInt8(ascii: "\n")).suffix(3)
                .map { String(decoding: $0, as: UTF8.self) }
            let last = lines.joined(separator: " / ")
            misdeeds.append("service \(member.number + 1) ended by itself (\(ending)): \(last)")
            members[member.number]?.isLeaving = true
            await close(member)
            try? await start(member.number)
        }
    }

    /// Ends all of them in order.
    func end() async {
        for number in members.keys.sorted() { await drain(number) }
    }
}
