import APNs
import APNsProtocol
import Crypto
import EventLoop
import FoundationEssentials
import Glibc
import HTTP2
import Synchronization

/// One run of `loadtest pool`.
enum PoolRun {
    private static let credential = CredentialID(1)
    private static let lane = LaneKey(environment: .production, role: .push, credential: credential)

    static func run(_ options: PoolOptions) async throws(RunFailure) -> PoolReport {
        let control = try makeLoop("control")
        var loops: [EventLoop] = []
        for number in 0..<options.loops { loops.append(try makeLoop("pool-\(number)")) }
        guard let target = options.target else {
            let simulator: SimulatorProcess
            if let file = options.simulatorReadyFile {
                simulator = try SimulatorProcess.running(readyFile: file)
            } else {
                simulator = try await SimulatorProcess.start(
                    isLean: !options.isFaithful,
                    roundTripMilliseconds: options.roundTripMilliseconds
                )
            }
            defer { simulator.stop() }
            return try await run(options, simulator: simulator, control: control, loops: loops)
        }
        var tls: TLSContext
        do throws(TLSError) { tls = try .client(caFile: options.caFile) } catch {
            throw RunFailure(message: "\(error)")
        }
        let tokens = LocalProviderTokens(now: now)
        try add(to: tokens, pem: nil, team: "TEAM000001", key: "KEY0000001")
        let pool = makePool(options, endpoint: try HostAndPort(target), tls: tls, tokens: tokens, loops: loops)
        return try await measure(options, pool: pool, sink: nil)
    }

    private static func run(
        _ options: PoolOptions,
        simulator: SimulatorProcess,
        control: EventLoop,
        loops: [EventLoop]
    ) async throws(RunFailure) -> PoolReport {
        let ready = simulator.ready
        let tls: TLSContext
        do throws(TLSError) { tls = try .client(caFile: ready.ca_file) } catch {
            throw RunFailure(message: "\(error)")
        }
        if let file = options.faultsFile {
            guard let rules = try? Data(contentsOf: URL(fileURLWithPath: file)) else {
                throw RunFailure(message: "cannot read \(file)")
            }
            try await simulator.setFaults(Array(rules), on: control)
        }
        let tokens = LocalProviderTokens(now: now)
        guard let pem = try? String(contentsOfFile: ready.credential.p8_file, encoding: .utf8) else {
            throw RunFailure(message: "cannot read \(ready.credential.p8_file)")
        }
        try add(to: tokens, pem: pem, team: ready.credential.team_id, key: ready.credential.key_id)
        let endpoint = try HostAndPort(ready.production.push)
        let before = try await simulator.counts(on: control)
        let pool = makePool(options, endpoint: endpoint, tls: tls, tokens: tokens, loops: loops)
        var report = try await measure(options, pool: pool, sink: simulator.process)
        let after = try await simulator.counts(on: control)
        report.requestsSeen = (after.requests["device"] ?? 0) - (before.requests["device"] ?? 0)
        if let doubled = after.doubled_ids, options.isFaithful {
            report.doubledIDs = doubled - (before.doubled_ids ?? 0)
        }
        return report
    }

    // MARK: - Measuring

    private static func measure(
        _ options: PoolOptions,
        pool: SenderPool,
        sink: pid_t?
    ) async throws(RunFailure) -> PoolReport {
        // Twice as many pushes in hand as the streams hold, so that the pool's queue never runs dry.
        let inHand = 2 * options.connections * options.loops * options.streams
        let senders = max(2, (inHand + options.batch - 1) / options.batch)
        var groups: [[PushRoute]] = []
        for sender in 0..<senders { groups.append(try routes(sender: sender, count: options.batch)) }
        guard let bundle = BundleID(validating: "com.example.scores") else {
            throw RunFailure(message: "not a bundle id")
        }
        let headers = PushHeaders.device(bundle, priority: 5, expiration: now() + 3600)
        let payload = payload(bytes: options.payloadBytes)
        let tickets = Tickets()

        let sinkBefore = sink.flatMap(ProcessUsage.cpu(of:))
        let cpuBefore = ProcessUsage.ownCPU
        let begin = ContinuousClock.now
        let outcomes = await withTaskGroup(of: OutcomeCounts.self) { group in
            for routes in groups {
                group.addTask {
                    var counts = OutcomeCounts()
                    while true {
                        // A token is used again only when its last push has ended: nothing can be reordered.
                        let first = tickets.take(options.batch)
                        let count = min(options.batch, options.pushes - first)
                        guard count > 0 else { return counts }
                        let batch = PushBatch(
                            lane: lane,
                            urgency: .routine,
                            headers: headers,
                            payload: payload,
                            recipients: (0..<count).map { place in
                                Recipient(
                                    route: routes[place],
                                    id: APNsID(seed: seed, index: UInt32(truncatingIfNeeded: first + place))
                                )
                            },
                            deadline: .now + .seconds(options.deadlineSeconds)
                        )
                        counts.add(await pool.send(batch))
                    }
                }
            }
            return await group.reduce(into: OutcomeCounts()) { $0.add($1) }
        }
        let elapsed = begin.duration(to: .now)
        let cpu = ProcessUsage.ownCPU - cpuBefore
        let sinkAfter = sink.flatMap(ProcessUsage.cpu(of:))
        let counts = pool.counts
        var report = PoolReport(options: options, outcomes: outcomes, counts: counts)
        report.latencies = pool.latencies
        report.elapsed = elapsed
        report.cpu = cpu
        report.peakBytes = ProcessUsage.ownPeakBytes
        if let sinkBefore, let sinkAfter { report.sinkCPU = sinkAfter - sinkBefore }
        await pool.drain(by: .now + .seconds(5))
        return report
    }

    private static let seed = SecureRandom.bytes(16)

    private static func routes(sender: Int, count: Int) throws(RunFailure) -> [PushRoute] {
        var routes: [PushRoute] = []
        for place in 0..<count {
            let digits = String(sender * count + place, radix: 16)
            let text = String(repeating: "0", count: 56 - digits.count) + digits + "10adc0de"
            guard let token = DeviceToken(validating: text) else { throw RunFailure(message: "not a token: \(text)") }
            routes.append(.device(token))
        }
        return routes
    }

    /// A Live Activity update of this size.
    private static func payload(bytes: Int) -> [UInt8] {
        let head = #"{"aps":{"timestamp":\#(now()),"event":"update","content-state":{"clock":""#
        let tail = #""}}}"#
        return Array(
            (head + String(repeating: "x", count: max(0, bytes - head.utf8.count - tail.utf8.count)) + tail).utf8
        )
    }

    // MARK: - Parts

    private static func makePool(
        _ options: PoolOptions,
        endpoint: HostAndPort,
        tls: TLSContext,
        tokens: LocalProviderTokens,
        loops: [EventLoop]
    ) -> SenderPool {
        var endpoints = APNsEndpoints()
        endpoints[.production, .push] = APNsEndpoint(host: endpoint.host, port: endpoint.port)
        var configuration = SenderPoolConfiguration(endpoints: endpoints, tls: tls, loops: loops)
        configuration.connectionsPerLane = options.connections
        configuration.streamsPerConnection = options.streams
        return SenderPool(configuration: configuration, providerTokens: tokens)
    }

    private static func add(to tokens: LocalProviderTokens, pem: String?, team: String, key: String) throws(RunFailure)
    {
        do throws(CryptoError) {
            let privateKey = if let pem { try P256PrivateKey(pem: pem) } else { try P256PrivateKey.generate() }
            guard let team = TeamID(validating: team), let key = KeyID(validating: key) else {
                throw CryptoError.key(.empty)
            }
            tokens.add(credential, key: privateKey, team: team, keyID: key)
        } catch {
            throw RunFailure(message: "the credential cannot be used: \(error)")
        }
    }

    private static func makeLoop(_ name: String) throws(RunFailure) -> EventLoop {
        do throws(EventLoopError) { return try EventLoop(name: name) } catch { throw RunFailure(message: "\(error)") }
    }

    private static func now() -> Int64 { Int64(Date().timeIntervalSince1970) }
}

/// Hands out the numbers of pushes.
private final class Tickets: Sendable {
    private let next = Atomic<Int>(0)

    /// The first of `count` numbers that are now the caller's.
    func take(_ count: Int) -> Int { next.wrappingAdd(count, ordering: .relaxed).oldValue }
}

/// Outcomes by name.
struct OutcomeCounts: Sendable {
    private(set) var accepted = 0
    private(set) var others: [String: Int] = [:]

    var total: Int { others.values.reduce(accepted, +) }

    mutating func add(_ outcomes: [Outcome]) {
        for outcome in outcomes {
            if case .accepted = outcome { accepted += 1 } else { others[Self.name(outcome), default: 0] += 1 }
        }
    }

    mutating func add(_ counts: OutcomeCounts) {
        accepted += counts.accepted
        for (name, count) in counts.others { others[name, default: 0] += count }
    }

    private static func name(_ outcome: Outcome) -> String {
        switch outcome {
        case .accepted: "accepted"
        case .tokenDead: "token_dead"
        case .tokenRefused: "token_refused"
        case .channelGone: "channel_gone"
        case .broadcastNotEnabled: "broadcast_not_enabled"
        case .providerTokenExpired: "provider_token_expired"
        case .tooManyProviderTokenUpdates: "too_many_provider_token_updates"
        case .configuration(let reason): "configuration \(reason.rawValue)"
        case .tooLarge: "too_large"
        case .later: "later"
        case .notProcessed: "not_processed"
        case .unknown: "unknown"
        case .refused(let status, let reason): "refused \(status) \(reason)"
        }
    }
}
