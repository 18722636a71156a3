internal import Core
internal import Crypto
internal import Executables
import FoundationEssentials

/// What the demo makes through the API before the match begins: a tenant, its keys, the app, the match, the phones.
struct DemoStage: Sendable {
    static let bundle = "com.example.scores"
    static let match = "worldcup-2022/final"
    static let environments = ["production", "sandbox"]

    let tenant: String
    let adminKey: String
    let admin: APIClient
    let feed: APIClient
    let simulator: SimulatorClient

    private struct Tenant: Decodable { let tenant: String }
    private struct Key: Decodable { let secret: String }

    /// Makes everything but the phones.
    static func prepare(
        service: ServiceReady,
        apns: SimulatorReady,
        script: MatchScript
    ) async throws(Failure) -> DemoStage {
        let operatorKey = try service.readOperatorKey()
        let patience = Duration.seconds(20)
        let system = try APIClient.connecting(to: service.url, key: operatorKey, patience: patience)
        let tenant: Tenant = try await system.send("POST", "/v1/tenants", ["name": "demo"]).decode()
        func key(_ role: String) async throws(Failure) -> String {
            let key: Key = try await system.send("POST", "/v1/tenants/\(tenant.tenant)/keys", ["role": .string(role)])
                .decode()
            return key.secret
        }
        let adminKey = try await key("admin")
        let stage = DemoStage(
            tenant: tenant.tenant,
            adminKey: adminKey,
            admin: try APIClient.connecting(to: service.url, key: adminKey, patience: patience),
            feed: try APIClient.connecting(to: service.url, key: try await key("feed"), patience: patience),
            simulator: SimulatorClient(api: try APIClient.connecting(to: apns.control, key: nil, patience: .seconds(5)))
        )
        try await stage.makeApps(apns.credential)
        try await ScoreMatch.putType(bundle: bundle, api: stage.admin)
        try await ScoreMatch.put(
            match,
            script: script,
            bundle: bundle,
            kickoff: Date.now.formatted(.iso8601),
            api: stage.admin
        )
        return stage
    }

    private func makeApps(_ credential: SimulatorReady.Credential) async throws(Failure) {
        let p8 = String(decoding: try File.read(credential.p8_file), as: UTF8.self)
        for environment in Self.environments {
            _ = try await admin.send(
                "PUT",
                "/v1/apps/\(Self.bundle)/\(environment)",
                [
                    "team_id": .string(credential.team_id), "key_id": .string(credential.key_id), "p8": .string(p8),
                    "frequent_updates_declared": true, "channels": "single",
                ]
            )
        }
    }

    /// Spreads the phones over both environments; in each, half of them are on the channel.
    func registerPhones(_ count: Int) async throws(Failure) -> [MatchPhones] {
        var all: [MatchPhones] = []
        for (environment, share) in zip(Self.environments, [(count + 1) / 2, count / 2]) {
            all.append(
                try await MatchPhones.register(
                    share,
                    match: Self.match,
                    environment: environment,
                    api: admin,
                    simulator: simulator
                )
            )
        }
        return all
    }

    /// Registers tokens of phones that have deleted the app meanwhile: APNs will answer 410 for each.
    func registerDeletedApps(_ count: Int) async throws(Failure) {
        let tokens = (0..<count).map { _ in
            MatchPhones.Token(hex: Hex.encode(SecureRandom.bytes(32)), isFrequent: true)
        }
        let inAMinute = Int64(Date.now.timeIntervalSince1970 * 1_000) + 60_000
        let rules = tokens.map { token -> JSONOutput in
            [
                "on": ["route": "device", "token": .string(token.hex)],
                "do": ["status": 410, "reason": "Unregistered", "timestamp": .number(inAMinute)],
            ]
        }
        _ = try await simulator.api.send("PUT", "/_sim/faults", ["rules": .array(rules)])
        try await MatchPhones.store(tokens, match: Self.match, environment: Self.environments[0], api: admin)
    }
}
