internal import Core
internal import EventLoop
internal import Executables
import FoundationEssentials
import Glibc

/// PostgreSQL, the simulator and several services, each in processes of its own, and one tenant with one app.
struct FleetStage: Sendable {
    let cluster: ChaosCluster
    let fleet: Fleet
    let simulator: SimulatorControl
    let scripted: ScriptedFaults
    /// Of the role `admin`.
    let key: String

    static let bundle = "com.example.scores"
    static let environment = "production"

    /// Starts everything and makes the app.
    ///
    /// - Parameters:
    ///   - workplace: Where they run, and what ends them.
    ///   - services: How many processes of `touchline serve`.
    ///   - simulatorArguments: Of `apns-simulator`.
    ///   - settings: Of the app, beside its credential.
    /// - Returns: The stage; ``end()`` is the caller's.
    /// - Throws: ``Failure`` of whatever did not come about.
    static func prepare(
        in workplace: Workplace,
        services: Int,
        simulatorArguments: [String],
        settings: [(String, JSONOutput)]
    ) async throws(Failure) -> FleetStage {
        let cluster = try await ChaosCluster.start(in: "\(workplace.folder)/database")
        let apns = try await workplace.startSimulator(simulatorArguments)
        let fleet = try Fleet(
            workplace,
            apns.ready,
            database: cluster.connectionString,
            masterKeyFile: try writeMasterKey(in: workplace.folder)
        )
        // The first makes the tables.
        for number in 0..<services { try await fleet.start(number) }
        let simulator = try SimulatorControl(apns.ready)
        let key = try await makeApp(fleet, cluster, apns.ready.credential, settings)
        return FleetStage(
            cluster: cluster,
            fleet: fleet,
            simulator: simulator,
            scripted: ScriptedFaults(simulator),
            key: key
        )
    }

    func end() async {
        await fleet.end()
        await cluster.stop()
    }

    /// Calls the API as the tenant's admin, through whatever services run.
    func client(_ tallies: CallTallies) -> ChaosClient { ChaosClient(fleet: fleet, key: key, tallies: tallies) }

    /// Runs a line of `touchline` against a service that runs just now.
    ///
    /// - Parameters:
    ///   - arguments: Behind `touchline`.
    ///   - deadline: It is killed then.
    /// - Returns: Whether it ended well, and what it printed; nil while no service runs.
    /// - Throws: ``Failure`` when it cannot be started.
    func touchline(
        _ arguments: [String],
        by deadline: ContinuousClock.Instant
    ) async throws(Failure) -> (isDone: Bool, output: String)? {
        guard let member = await fleet.next() else { return nil }
        var options = ChildProcess.Options("\(try Workplace.ownFolder())/touchline", arguments)
        options.environment = Environment.current().merging(
            ["TOUCHLINE_URL": member.connection.url.text, "TOUCHLINE_KEY": key]
        ) { $1 }
        do throws(ChildProcessError) {
            let (ending, output) = try await ChildProcess.run(options, by: deadline)
            return (ending?.isSuccess == true, output)
        } catch {
            throw Failure(.failed, "cannot start touchline: \(error)")
        }
    }

    // MARK: - Making it

    static func writeMasterKey(in folder: String) throws(Failure) -> String {
        var generator = SystemRandomNumberGenerator()
        let bytes = (0..<32).map { _ in UInt8.random(in: 0...255, using: &generator) }
        let path = "\(folder)/master.key"
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Failure(.failed, "cannot write \(path)") }
        defer { close(descriptor) }
        guard write(descriptor, bytes, bytes.count) == bytes.count else {
            throw Failure(.failed, "cannot write \(path)")
        }
        return path
    }

    struct Secret: Decodable { let secret: String }
    struct Tenant: Decodable { let tenant: String }

    /// A client with a fresh operator's key, made as an operator makes the first one.
    static func bootstrap(_ fleet: Fleet, _ cluster: ChaosCluster) async throws(Failure) -> ChaosClient {
        var options = ChildProcess.Options("\(try Workplace.ownFolder())/touchline", ["key", "bootstrap", "--json"])
        options.environment = Environment.current().merging(["DATABASE_URL": cluster.connectionString]) { $1 }
        let operatorKey: Secret
        do {
            let (ending, output) = try await ChildProcess.run(options, by: .now + .seconds(60))
            guard ending?.isSuccess == true else { throw Failure(.failed, "no operator's key: \(output)") }
            operatorKey = try JSONDecoder().decode(Secret.self, from: Data(output.utf8))
        } catch {
            throw error as? Failure ?? Failure(.failed, "no operator's key: \(error)")
        }
        return ChaosClient(fleet: fleet, key: operatorKey.secret, tallies: CallTallies())
    }

    private static func makeApp(
        _ fleet: Fleet,
        _ cluster: ChaosCluster,
        _ credential: SimulatorReady.Credential,
        _ settings: [(String, JSONOutput)]
    ) async throws(Failure) -> String {
        let system = try await bootstrap(fleet, cluster)
        let tenant: Tenant = try await system.make("POST", "/v1/tenants", ["name": "a league"])
        let key: Secret = try await system.make("POST", "/v1/tenants/\(tenant.tenant)/keys", ["role": "admin"])
        let admin = ChaosClient(fleet: fleet, key: key.secret, tallies: CallTallies())
        let p8 = String(decoding: try File.read(credential.p8_file), as: UTF8.self)
        let all =
            settings + [
                ("team_id", .string(credential.team_id)), ("key_id", .string(credential.key_id)),
                ("p8", .string(p8)),
            ]
        try await admin.make("PUT", "/v1/apps/\(bundle)/\(environment)", .object(all))
        try await admin.make(
            "PUT",
            "/v1/apps/\(bundle)/types/ScoreAttributes",
            ["content_state": ServiceStage.contract]
        )
        return key.secret
    }
}

extension Workplace {
    /// Copies the logs of all that runs here; nowhere without a folder.
    func keepLogs(in folder: String?) {
        guard let folder else { return }
        try? FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let names = (try? FileManager.default.contentsOfDirectory(atPath: self.folder)) ?? []
        for name in names where name.hasSuffix(".log") {
            try? FileManager.default.removeItem(atPath: "\(folder)/\(name)")
            try? FileManager.default.copyItem(atPath: "\(self.folder)/\(name)", toPath: "\(folder)/\(name)")
        }
    }
}

extension SimulatorControl {
    private struct Channels: Decodable {
        struct Channel: Decodable { let id: String }

        let channels: [Channel]
    }

    /// The ids of all channels that it has.
    func channels() async throws(Failure) -> [String] {
        let answer: Channels = try await api.send("GET", "/_sim/channels").decode()
        return answer.channels.map(\.id)
    }
}
