import Crypto
import EventLoop
import Glibc
import HTTP2
import HTTPServer

/// A faithful APNs for one machine: for each environment a push and a management listener over TLS, and a control API.
///
/// Written from Apple's pages alone: it shares nothing with the client's protocol.
package final class APNsSimulator: Sendable {
    package typealias Endpoint = SimulatorConfiguration.Endpoint

    /// The certification authority that signed the listeners' certificate, as a PEM file.
    package let caFile: String
    /// The key of the simulator's own credential, as Apple hands it out.
    package let p8File: String
    package let teamID: String
    package let keyID: String
    /// `http://127.0.0.1:N`
    package let controlURL: String

    let service: SimulatedService
    private let listeners: [Endpoint: ServerListener]
    private let control: HTTPServer
    private let lean: [LeanLoop]
    let loops: [EventLoop]
    let files: SimulatorFiles

    /// Starts every listener. When it returns, all take connections.
    package static func start(
        _ configuration: SimulatorConfiguration = SimulatorConfiguration()
    ) async throws(SimulatorError) -> APNsSimulator {
        let files = try SimulatorFiles(directory: configuration.directory)
        let names = configuration.credential
        let credential = SimulatedCredential(
            teamID: names.teamID,
            keyID: names.keyID,
            publicKey: files.key.publicKey
        )
        let loops = try makeLoops(configuration)
        do {
            let service = try SimulatedService(
                configuration,
                credentials: [credential] + configuration.moreCredentials,
                on: loops[0]
            )
            let tls = try TLSContext.server(
                certificateFile: files.certificate.certificateFile,
                keyFile: files.certificate.keyFile,
                alpn: ["h2"]
            )
            let lean = loops.dropFirst(2).map { LeanLoop($0, sink: service.sink, tls: tls) }
            let listeners = try await startListeners(configuration, tls, service, lean)
            let control = try await startControl(configuration, service, lean, loops[1])
            return APNsSimulator(service, listeners, control, lean, loops, files, names)
        } catch {
            for loop in loops { loop.shutdown() }
            files.remove()
            throw error as? SimulatorError ?? SimulatorError("\(error)")
        }
    }

    private init(
        _ service: SimulatedService,
        _ listeners: [Endpoint: ServerListener],
        _ control: HTTPServer,
        _ lean: [LeanLoop],
        _ loops: [EventLoop],
        _ files: SimulatorFiles,
        _ names: SimulatorConfiguration.CredentialNames
    ) {
        self.service = service
        self.listeners = listeners
        self.control = control
        self.lean = lean
        self.loops = loops
        self.files = files
        caFile = files.certificate.caFile
        p8File = files.p8File
        teamID = names.teamID
        keyID = names.keyID
        controlURL = "http://127.0.0.1:\(control.port)"
    }

    /// The port of a listener; its host is `localhost`.
    package func port(_ environment: SimulatedEnvironment, _ role: ListenerRole) -> Int {
        listeners[Endpoint(environment, role)]?.port ?? 0
    }

    /// Closes every connection and listener at once, and removes temporary files. To be called once.
    package func stop() async {
        for listener in listeners.values { await listener.close() }
        await closeConnections()
        await control.drain(by: .now + .milliseconds(200))
        for loop in loops { loop.shutdown() }
        files.remove()
    }

    /// Closes every connection at once, as a service that goes down.
    package func closeConnections() async {
        await service.closeConnections()
        for loop in lean { await loop.closeConnections() }
    }

    /// The service's, the control API's, and in lean mode those of the push listeners.
    private static func makeLoops(_ configuration: SimulatorConfiguration) throws(SimulatorError) -> [EventLoop] {
        let cores = max(1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))))
        let lean = configuration.isLean ? configuration.leanLoops ?? min(4, max(1, cores - 1)) : 0
        var loops: [EventLoop] = []
        do {
            for name in ["apns-simulator", "sim-control"] + (0..<lean).map({ "lean-\($0)" }) {
                loops.append(try EventLoop(name: name))
            }
            return loops
        } catch {
            for loop in loops { loop.shutdown() }
            throw SimulatorError("\(error)")
        }
    }

    private static func startControl(
        _ configuration: SimulatorConfiguration,
        _ service: SimulatedService,
        _ lean: [LeanLoop],
        _ loop: EventLoop
    ) async throws -> HTTPServer {
        var settings = HTTPServerConfiguration(address: .loopback(port: configuration.controlPort))
        settings.limits.maxBodyBytes = ControlAPI.mostBodyBytes
        let api = ControlAPI(service) { action in
            var count = await service.disturb(action)
            for loop in lean { count += await loop.disturb(action) }
            return count
        }
        return try await HTTPServer.start(settings, loops: [loop]) { await api.answer($0) }
    }
}
