import APNs
import APNsProtocol
internal import Crypto
internal import EventLoop
internal import Executables
import FoundationEssentials
internal import HTTP2

/// The other end of a run: where it is, whom it trusts, and how its process and its counts are read.
struct PoolSink: Sendable {
    let endpoint: HostAndPort
    let tls: TLSContext
    let tokens: LocalProviderTokens
    /// Nil where it is no simulator.
    let control: SimulatorControl?
    /// Nil where somebody else has started it.
    let process: Int32?
    /// Its certificate authority's file, and its credential's, for another load generator.
    let ready: SimulatorReady?

    /// Starts or finds it.
    static func open(_ options: PoolOptions, in workplace: Workplace) async throws(Failure) -> PoolSink {
        if let target = options.sink.target { return try PoolSink(target: target, options) }
        if let file = options.sink.readyFile {
            guard let ready = try? JSONDecoder().decode(SimulatorReady.self, from: Data(try File.read(file))) else {
                throw Failure(.wrongUse, "\(file) is no ready-file of apns-simulator")
            }
            return try await PoolSink(ready, process: nil, options)
        }
        var arguments = ["--rtt", String(options.sink.roundTripMilliseconds), "--seed", String(options.seed)]
        if !options.sink.isFaithful { arguments.append("--lean") }
        if options.sink.countsDoubles { arguments += ["--count-doubles", "--count-reordered"] }
        if options.streams > 1000 { arguments += ["--max-streams", String(options.streams)] }
        let started = try await workplace.startSimulator(arguments)
        return try await PoolSink(started.ready, process: started.process.processID, options)
    }

    private init(target: HostAndPort, _ options: PoolOptions) throws(Failure) {
        endpoint = target
        do throws(TLSError) { tls = try .client(caFile: options.sink.caFile) } catch {
            throw Failure(.failed, "TLS is not usable: \(error)")
        }
        let file = options.sink.credential?.keyFile ?? ""
        tokens = try Self.tokens(
            pem: file.isEmpty ? nil : String(decoding: try File.read(file), as: UTF8.self),
            team: options.sink.credential?.teamID ?? "",
            key: options.sink.credential?.keyID ?? "",
            tenants: options.tenants
        )
        control = nil
        process = nil
        ready = nil
    }

    private init(_ ready: SimulatorReady, process: Int32?, _ options: PoolOptions) async throws(Failure) {
        endpoint = try HostAndPort(ready.production.push)
        do throws(TLSError) { tls = try .client(caFile: ready.ca_file) } catch {
            throw Failure(.failed, "TLS is not usable: \(error)")
        }
        tokens = try Self.tokens(of: ready, tenants: options.tenants)
        let control = try SimulatorControl(ready)
        if let faults = options.sink.faults { try await control.setFaults(faults.json) }
        self.control = control
        self.process = process
        self.ready = ready
    }

    /// The provider tokens of a simulator's credential.
    static func tokens(of ready: SimulatorReady, tenants: Int) throws(Failure) -> LocalProviderTokens {
        try tokens(
            pem: String(decoding: try File.read(ready.credential.p8_file), as: UTF8.self),
            team: ready.credential.team_id,
            key: ready.credential.key_id,
            tenants: tenants
        )
    }

    /// Each tenant has a credential of its own, if with one and the same key: the pool shares nothing between them.
    private static func tokens(
        pem: String?,
        team: String,
        key: String,
        tenants: Int
    ) throws(Failure) -> LocalProviderTokens {
        guard let team = TeamID(validating: team), let keyID = KeyID(validating: key) else {
            throw Failure(.wrongUse, "team and key ids are ten capital letters and digits: “\(team)”, “\(key)”")
        }
        let tokens = LocalProviderTokens(now: { Int64(Date().timeIntervalSince1970) })
        do throws(CryptoError) {
            let privateKey = if let pem { try P256PrivateKey(pem: pem) } else { try P256PrivateKey.generate() }
            for tenant in 0..<tenants {
                tokens.add(PoolLoad.credential(tenant), key: privateKey, team: team, keyID: keyID)
            }
        } catch {
            throw Failure(.failed, "the credential cannot be used: \(error)")
        }
        return tokens
    }
}
