import APNs
import APNsProtocol
import APNsSimulator
import Crypto
import EventLoop
import Foundation
import HTTP2
import TestSupport

/// The loops of this module's tests; they outlive every pool.
enum TestLoops {
    static let pool = make("test-pool")
    static let far = make("test-far")
    static let second = make("test-second")

    private static func make(_ name: String) -> EventLoop {
        do { return try EventLoop(name: name) } catch { preconditionFailure("\(error)") }
    }
}

/// What a test sends, and to whom.
enum Pushes {
    static let credential = CredentialID(1)
    static let lane = LaneKey(environment: .production, role: .push, credential: credential)

    static func bundle() throws -> BundleID { try required(BundleID(validating: "com.example.scores")) }

    static func required<Value>(_ value: Value?) throws -> Value {
        guard let value else { throw Missing() }
        return value
    }

    struct Missing: Error {}

    static func recipients(_ numbers: Range<Int>) throws -> [Recipient] {
        try numbers.map { number in
            Recipient(
                route: .device(try required(DeviceToken(validating: TestTokens.token(number)))),
                id: APNsID(seed: Array(repeating: 9, count: 16), index: UInt32(number))
            )
        }
    }

    static func batch(
        _ numbers: Range<Int>,
        lane: LaneKey = lane,
        urgency: PushUrgency = .routine,
        deadline: Duration = Patience.long,
        payloadBytes: Int = 200,
        isOnce: Bool = false
    ) throws -> PushBatch {
        PushBatch(
            lane: lane,
            urgency: urgency,
            headers: .device(try bundle(), priority: 5, expiration: 1_790_000_000),
            payload: payload(payloadBytes),
            recipients: try recipients(numbers),
            deadline: .now + deadline,
            isOnce: isOnce
        )
    }

    /// One urgent push to a channel, on the lane of the tokens.
    static func channelPush(deadline: Duration = Patience.long, payloadBytes: Int = 5120) throws -> PushBatch {
        let channel = try required(ChannelID(validating: "dHN0LXNyY2gtY2hubDBeAA=="))
        return PushBatch(
            lane: lane,
            urgency: .urgent,
            headers: .broadcast(priority: 10, expiration: 0),
            payload: payload(payloadBytes),
            recipients: [
                Recipient(
                    route: .broadcast(try bundle(), channel),
                    id: APNsID(seed: Array(repeating: 3, count: 16), index: 1)
                )
            ],
            deadline: .now + deadline
        )
    }

    /// A Live Activity update of exactly this size.
    static func payload(_ bytes: Int) -> [UInt8] {
        let head = #"{"aps":{"timestamp":1790000000,"event":"update","content-state":{"clock":""#
        let tail = #""}}}"#
        let filling = String(repeating: "x", count: max(0, bytes - head.utf8.count - tail.utf8.count))
        return Array((head + filling + tail).utf8)
    }
}

extension SenderPoolConfiguration {
    /// Against a simulator, over TLS.
    static func testing(_ simulator: APNsSimulator) throws -> SenderPoolConfiguration {
        try testing(simulator, on: TestLoops.pool)
    }

    /// Against a scripted server, without TLS.
    static func testing(_ server: ScriptedHTTP2Server) -> SenderPoolConfiguration {
        var endpoints = APNsEndpoints()
        endpoints[.production, .push] = APNsEndpoint(host: "127.0.0.1", port: server.port)
        var configuration = SenderPoolConfiguration(endpoints: endpoints, tls: nil, loops: [TestLoops.pool])
        configuration.bePatient()
        // What is open can be counted then; who tests the reserve sets it.
        configuration.urgentReserve = .none
        configuration.startsSlowly = false
        return configuration
    }
}

extension LocalProviderTokens {
    /// The simulator's credential.
    static func testing(
        _ simulator: APNsSimulator,
        now: @escaping @Sendable () -> Int64 = { Int64(Date().timeIntervalSince1970) }
    ) throws -> LocalProviderTokens {
        let tokens = LocalProviderTokens(now: now)
        tokens.add(
            Pushes.credential,
            key: try P256PrivateKey(pem: String(contentsOfFile: simulator.p8File, encoding: .utf8)),
            team: try Pushes.required(TeamID(validating: simulator.teamID)),
            keyID: try Pushes.required(KeyID(validating: simulator.keyID))
        )
        return tokens
    }
}

/// Hands out a text instead of a signed token, and remembers refusals.
actor ScriptedProviderTokens: ProviderTokenSource {
    private var texts: [String]
    private(set) var refusals: [ProviderTokenRefusal] = []

    /// - Parameter texts: The first is used until it is refused as expired, then the next; the last stays.
    init(_ texts: [String]) { self.texts = texts }

    func token(for credential: CredentialID) async throws(ProviderTokenError) -> String {
        guard let text = texts.first else { throw .unusable("none") }
        return text
    }

    func refused(_ token: String, for credential: CredentialID, as refusal: ProviderTokenRefusal) async {
        refusals.append(refusal)
        if refusal == .expired, texts.count > 1, texts.first == token { texts.removeFirst() }
    }
}

/// Runs a body with a scripted server and a pool for it, and ends both afterwards.
func withScriptedPool<Result: Sendable>(
    greeting: [UInt8] = ScriptedHTTP2Server.settings(),
    tokens: any ProviderTokenSource = ScriptedProviderTokens(["token"]),
    configure: (inout SenderPoolConfiguration) -> Void = { $0.connectionsPerLane = 1 },
    _ body: (ScriptedHTTP2Server, SenderPool) async throws -> Result
) async throws -> Result {
    let server = try await ScriptedHTTP2Server.start(on: TestLoops.far, greeting: greeting)
    var configuration = SenderPoolConfiguration.testing(server)
    configure(&configuration)
    do {
        let result = try await withPool(configuration, tokens) { try await body(server, $0) }
        await server.stop()
        return result
    } catch {
        await server.stop()
        throw error
    }
}

extension ScriptedHTTP2Server {
    /// Answers the first request, which goes alone, and waits until `count` further ones have come whole on connection 0.
    func openStreams(_ count: Int) async {
        await until { $0.requests(on: 0).count == 1 }
        respond(1)
        await until { $0.frames.count { $0.connection == 0 && $0.endsStream } == 1 + count }
    }
}

extension SenderPool {
    /// Waits until the counts are such; each round goes to the pool's loop and back.
    func until(_ isMet: (PoolCounts) -> Bool) async {
        let another = LaneKey(environment: .sandbox, role: .manage, credential: Pushes.credential)
        while !isMet(counts) { await cancel(another) }
    }
}

/// Runs a body with a pool, and drains it afterwards.
func withPool<Result: Sendable>(
    _ configuration: SenderPoolConfiguration,
    _ tokens: any ProviderTokenSource,
    _ body: (SenderPool) async throws -> Result
) async throws -> Result {
    let pool = SenderPool(configuration: configuration, providerTokens: tokens)
    do {
        let result = try await body(pool)
        await pool.drain(by: .patient)
        return result
    } catch {
        await pool.drain(by: .now)
        throw error
    }
}
