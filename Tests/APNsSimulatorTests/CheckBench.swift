import Crypto

@testable import APNsSimulator

/// A service without sockets: requests go straight through the checks.
struct CheckBench {
    static let now: Int64 = 1_790_000_000
    static let token = "0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0"
    static let bundle = "com.example.ferry"

    let provider: TestProvider
    let authorization: String
    let verifier: ProviderTokenVerifier
    let channels = ChannelStore(generator: SeededGenerator(seed: 1))
    let phones = PhoneStore(environment: .production)
    let sandboxPhones = PhoneStore(environment: .sandbox)
    var profile = SimulatorProfile.observed
    var binding = ConnectionBinding()

    init(bundles: Set<String>? = nil, keyEnvironment: SimulatedEnvironment? = nil) throws {
        provider = try TestProvider()
        authorization = try provider.authorization(issuedAt: Self.now - 60)
        verifier = ProviderTokenVerifier([provider.credential(environment: keyEnvironment, bundles: bundles)])
        phones.other = sandboxPhones
        sandboxPhones.other = phones
    }

    mutating func check(_ request: ProviderRequest, on role: ListenerRole) -> Rejection? {
        var context = CheckContext(
            ArrivedRequest(request),
            environment: .production,
            role: role,
            profile: profile,
            now: Self.now,
            verifier: verifier,
            channels: channels,
            phones: phones,
            binding: binding
        )
        let rejection = context.firstRejection()
        binding = context.binding
        return rejection
    }

    /// A push that passes, with headers replaced (or removed, by nil).
    func device(_ changes: [String: String?] = [:], token: String = CheckBench.token, body: String = "{}")
        -> ProviderRequest
    {
        let headers = [
            "authorization": authorization, "apns-topic": "\(Self.bundle).push-type.liveactivity",
            "apns-push-type": "liveactivity", "apns-priority": "5", "apns-expiration": "\(Self.now + 600)",
        ]
        return request("POST", "/3/device/\(token)", headers, changes, body)
    }

    /// A broadcast that passes on a channel of policy 0, with headers replaced.
    func broadcast(
        _ changes: [String: String?] = [:],
        on channel: String,
        bundle: String = CheckBench.bundle,
        body: String = "{}"
    ) -> ProviderRequest {
        let headers = [
            "authorization": authorization, "apns-channel-id": channel, "apns-push-type": "liveactivity",
            "apns-priority": "10", "apns-expiration": "0",
        ]
        return request("POST", "/4/broadcasts/apps/\(bundle)", headers, changes, body)
    }

    func manage(
        _ method: String,
        _ path: String = "/1/apps/com.example.ferry/channels",
        _ changes: [String: String?] = [:],
        body: String = ""
    ) -> ProviderRequest {
        request(method, path, ["authorization": authorization], changes, body)
    }

    private func request(
        _ method: String,
        _ path: String,
        _ headers: [String: String],
        _ changes: [String: String?],
        _ body: String
    ) -> ProviderRequest {
        var headers = headers
        for (name, value) in changes { headers[name] = value }
        return ProviderRequest(method, path, headers.map { ($0.key, $0.value) }, body: body)
    }
}
