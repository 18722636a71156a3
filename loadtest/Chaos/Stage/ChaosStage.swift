internal import Core
internal import EventLoop
internal import Executables

/// All that a chaos run needs before it begins: PostgreSQL, the simulator, services, two tenants and their apps.
struct ChaosStage: Sendable {
    let cluster: ChaosCluster
    let host: ChaosHost
    let fleet: Fleet
    let simulator: SimulatorControl
    let scripted: ScriptedFaults
    let simulatorProcess: Int32
    /// By tenant: a key of the role `admin`.
    let keys: [String]

    static let tenants = 2

    /// What each phone decodes.
    static let contract: JSONOutput = ["home": "int", "away": "int", "clock": "string"]

    static func prepare(_ options: ChaosOptions, in workplace: Workplace) async throws(Failure) -> ChaosStage {
        let host = try await ChaosHost.prepare(options, in: workplace)
        let cluster: ChaosCluster
        do throws(Failure) {
            cluster = try await ChaosCluster.start(in: host.databaseFolder, clock: host.clock)
            try await host.startPooler(before: cluster, in: workplace)
        } catch {
            await host.end()
            throw error
        }
        let log = options.logFolder == nil ? [] : ["--log", "\(workplace.folder)/requests.log"]
        let apns = try await workplace.startSimulator(["--seed", String(options.seed)] + log)
        let fleet = try Fleet(
            workplace,
            apns.ready,
            database: cluster.connectionString,
            pooled: host.pooler?.connectionString,
            masterKeyFile: try FleetStage.writeMasterKey(in: workplace.folder)
        )
        // The first makes the tables.
        for number in 0..<options.services { try await fleet.start(number) }
        if options.logFolder != nil { try await cluster.keepHistory() }
        let simulator = try SimulatorControl(apns.ready)
        let keys = try await makeTenants(fleet, cluster, apns.ready.credential)
        return ChaosStage(
            cluster: cluster,
            host: host,
            fleet: fleet,
            simulator: simulator,
            scripted: ScriptedFaults(simulator),
            simulatorProcess: apns.process.processID,
            keys: keys
        )
    }

    private static func makeTenants(
        _ fleet: Fleet,
        _ cluster: ChaosCluster,
        _ credential: SimulatorReady.Credential
    ) async throws(Failure) -> [String] {
        let system = try await FleetStage.bootstrap(fleet, cluster)
        let p8 = String(decoding: try File.read(credential.p8_file), as: UTF8.self)
        var keys: [String] = []
        for number in 0..<tenants {
            let tenant: FleetStage.Tenant = try await system.make(
                "POST",
                "/v1/tenants",
                ["name": .string("tenant \(number + 1)")]
            )
            let key: FleetStage.Secret = try await system.make(
                "POST",
                "/v1/tenants/\(tenant.tenant)/keys",
                ["role": "admin"]
            )
            let admin = ChaosClient(fleet: fleet, key: key.secret, tallies: CallTallies())
            for app in ChaosApp.all(of: number) {
                var settings = app.settings
                settings += [
                    ("team_id", .string(credential.team_id)), ("key_id", .string(credential.key_id)),
                    ("p8", .string(p8)),
                ]
                try await admin.make("PUT", "/v1/apps/\(app.bundle)/\(app.environment)", .object(settings))
                try await admin.make("PUT", "/v1/apps/\(app.bundle)/types/ScoreAttributes", ["content_state": contract])
            }
            keys.append(key.secret)
        }
        return keys
    }
}

/// One of the apps that each tenant has: each kind of target is there, with Touchline's own pacing and with a quick one, in
/// both environments, on channels that keep the newest push and on such that keep none.
struct ChaosApp: Sendable {
    let bundle: String
    let environment: String
    let hasTokens: Bool
    let channelCadences: [String]
    let storagePolicy: Int
    let isQuick: Bool

    /// Those of a tenant. Each tenant has bundle ids of its own, as tenants have.
    static func all(of tenant: Int) -> [ChaosApp] {
        let prefix = "com.example\(tenant + 1)"
        let environment = tenant % 2 == 0 ? "production" : "sandbox"
        return [
            ChaosApp(
                bundle: "\(prefix).channels",
                environment: environment,
                hasTokens: false,
                channelCadences: ["any"],
                storagePolicy: 1 - tenant % 2,
                isQuick: false
            ),
            ChaosApp(
                bundle: "\(prefix).tokens",
                environment: environment,
                hasTokens: true,
                channelCadences: [],
                storagePolicy: 1,
                isQuick: true
            ),
            ChaosApp(
                bundle: "\(prefix).both",
                environment: environment,
                hasTokens: true,
                channelCadences: ["frequent", "standard"],
                storagePolicy: 1,
                isQuick: false
            ),
        ]
    }

    var settings: [(String, JSONOutput)] {
        let channels: JSONOutput =
            switch channelCadences.count {
            case 0: "none"
            case 1: "single"
            default: "by_cadence"
            }
        var settings: [(String, JSONOutput)] = [
            ("frequent_updates_declared", true), ("channels", channels), ("tokens", .bool(hasTokens)),
            ("storage_policy", .int(storagePolicy)),
        ]
        if isQuick {
            settings.append(
                (
                    "pacing",
                    [
                        "frequent": ["gap_seconds": 1, "urgent_per_hour": 2000],
                        "standard": ["gap_seconds": 4, "urgent_per_hour": 600],
                    ]
                )
            )
        }
        return settings
    }

    /// What a phone of this app takes in an hour: the quick pacing is quicker than the system would allow.
    var phoneBudget: Int? { isQuick ? 100_000 : nil }
}
