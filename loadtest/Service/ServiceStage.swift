internal import Core
internal import EventLoop
internal import Executables
import FoundationEssentials

/// The service, its simulator, and what a test needs of the API before it begins: tenants, their apps, matches.
struct ServiceStage: Sendable {
    /// One match, and its tenant's client.
    struct Match: Sendable {
        let number: Int
        let api: APIClient

        var id: String { "match-\(number)" }

        func path(_ part: String) -> String { "/v1/matches/\(id)/\(part)" }
    }

    static let bundle = "com.example.scores"
    static let environment = "production"
    /// What each phone of a test decodes.
    static let contract: JSONOutput = ["home": "int", "away": "int", "clock": "string"]

    let simulator: SimulatorControl
    let matches: [Match]
    let url: String
    /// One key a tenant, for clients of one's own.
    let keys: [String]
    let serviceProcess: Int32
    let simulatorProcess: Int32

    private struct Tenant: Decodable { let tenant: String }
    private struct Key: Decodable { let secret: String }

    /// Starts both processes and makes everything but the phones. Matches are dealt out to the tenants in turn.
    ///
    /// - Parameters:
    ///   - workplace: Where they run, and what ends them.
    ///   - simulatorArguments: `--lean`, `--rtt`.
    ///   - tenants: Each has one app.
    ///   - matches: Of all tenants.
    ///   - hasChannels: Whether each match has a broadcast channel.
    /// - Returns: The stage, every channel open.
    /// - Throws: ``Failure`` of whatever did not come about.
    static func prepare(
        in workplace: Workplace,
        simulatorArguments: [String],
        tenants: Int,
        matches: Int,
        hasChannels: Bool
    ) async throws(Failure) -> ServiceStage {
        let apns = try await workplace.startSimulator(simulatorArguments)
        let service = try await workplace.startService(apns.ready, isDisposable: false)
        let system = try APIClient.connecting(
            to: service.ready.url,
            key: try service.ready.readOperatorKey(),
            patience: .seconds(20)
        )
        var keys: [String] = []
        var clients: [APIClient] = []
        for number in 0..<tenants {
            let tenant: Tenant = try await system.send("POST", "/v1/tenants", ["name": .string("tenant \(number)")])
                .decode()
            let key: Key = try await system.send("POST", "/v1/tenants/\(tenant.tenant)/keys", ["role": "admin"])
                .decode()
            let api = try APIClient.connecting(to: service.ready.url, key: key.secret, patience: .seconds(20))
            try await makeApp(apns.ready.credential, api, hasChannels: hasChannels)
            keys.append(key.secret)
            clients.append(api)
        }
        let stage = ServiceStage(
            simulator: try SimulatorControl(apns.ready),
            matches: (0..<matches).map { Match(number: $0, api: clients[$0 % tenants]) },
            url: service.ready.url,
            keys: keys,
            serviceProcess: service.process.processID,
            simulatorProcess: apns.process.processID
        )
        try await stage.makeMatches()
        return stage
    }

    private static func makeApp(
        _ credential: SimulatorReady.Credential,
        _ api: APIClient,
        hasChannels: Bool
    ) async throws(Failure) {
        let p8 = String(decoding: try File.read(credential.p8_file), as: UTF8.self)
        _ = try await api.send(
            "PUT",
            "/v1/apps/\(bundle)/\(environment)",
            [
                "team_id": .string(credential.team_id), "key_id": .string(credential.key_id), "p8": .string(p8),
                "frequent_updates_declared": true, "channels": hasChannels ? "single" : "none",
            ]
        )
        _ = try await api.send("PUT", "/v1/apps/\(bundle)/types/ScoreAttributes", ["content_state": contract])
    }

    private func makeMatches() async throws(Failure) {
        let kickoff = Date.now.formatted(.iso8601)
        for match in matches {
            _ = try await match.api.send(
                "PUT",
                "/v1/matches/\(match.id)",
                [
                    "bundle": .string(Self.bundle), "type": "ScoreAttributes", "kickoff_at": .string(kickoff),
                    "content_state": MatchState(score: 0, match: match.number).json,
                ]
            )
        }
    }

    private struct Channel: Decodable { let channel_id: String }

    /// The match's channel, once it is open.
    func channel(of match: Match) async throws(Failure) -> String {
        let end = ContinuousClock.now + .seconds(120)
        while true {
            do throws(Failure) {
                let channel: Channel = try await match.api.send(
                    "GET",
                    match.path("channel?environment=\(Self.environment)")
                ).decode()
                return channel.channel_id
            } catch {
                guard error.code == "channel_pending", ContinuousClock.now < end else { throw error }
                try? await Task.sleep(for: .milliseconds(50))
            }
        }
    }

    /// CPU seconds that the service's own process has used: PostgreSQL's processes are not in it.
    var serviceCPU: Duration { ProcessUsage.cpu(of: serviceProcess) ?? .zero }

    var simulatorCPU: Duration { ProcessUsage.cpu(of: simulatorProcess) ?? .zero }

    /// The most memory that the service's process has had.
    var servicePeakBytes: Int { ProcessUsage.peakBytes(of: serviceProcess) ?? 0 }
}

/// What a phone shows: the score counts the match's events, so that each state is another, and tells its match.
struct MatchState: Equatable, Sendable {
    let score: Int
    let match: Int

    var json: JSONOutput { ["home": .int(score), "away": .int(match), "clock": .string("\(score % 90)'")] }
}
