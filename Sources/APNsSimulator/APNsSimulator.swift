import Crypto
import EventLoop
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
        let (loop, controlLoop) = try makeLoops()
        let service = SimulatedService(
            configuration,
            credentials: [credential] + configuration.moreCredentials,
            on: loop
        )
        do {
            let listeners = try await startListeners(configuration, files.certificate, service, loop)
            let control = try await startControl(configuration, service, controlLoop)
            return APNsSimulator(service, listeners, control, [loop, controlLoop], files, names)
        } catch {
            loop.shutdown()
            controlLoop.shutdown()
            files.remove()
            throw SimulatorError("\(error)")
        }
    }

    private init(
        _ service: SimulatedService,
        _ listeners: [Endpoint: ServerListener],
        _ control: HTTPServer,
        _ loops: [EventLoop],
        _ files: SimulatorFiles,
        _ names: SimulatorConfiguration.CredentialNames
    ) {
        self.service = service
        self.listeners = listeners
        self.control = control
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
        await service.closeConnections()
        await control.drain(by: .now + .milliseconds(200))
        for loop in loops { loop.shutdown() }
        files.remove()
    }

    private static func makeLoops() throws(SimulatorError) -> (EventLoop, EventLoop) {
        do {
            return (try EventLoop(name: "apns-simulator"), try EventLoop(name: "sim-control"))
        } catch {
            throw SimulatorError("\(error)")
        }
    }

    private static func startListeners(
        _ configuration: SimulatorConfiguration,
        _ certificate: TestCertificate,
        _ service: SimulatedService,
        _ loop: EventLoop
    ) async throws -> [Endpoint: ServerListener] {
        let tls = try TLSContext.server(
            certificateFile: certificate.certificateFile,
            keyFile: certificate.keyFile,
            alpn: ["h2"]
        )
        var listeners: [Endpoint: ServerListener] = [:]
        for environment in SimulatedEnvironment.allCases {
            for role in ListenerRole.allCases {
                let endpoint = Endpoint(environment, role)
                let isUnread = configuration.isLean && role == .push
                let settings = ListenerSettings.configuration(isUnread: isUnread, configuration)
                listeners[endpoint] = try await ServerListener.start(
                    on: .loopback(port: configuration.ports[endpoint] ?? 0),
                    loops: [loop]
                ) { descriptor, _, loop in
                    let hooks: any HTTP2ServerHooks =
                        isUnread ? LeanConnection(service) : ProviderConnection(service, at: endpoint)
                    let connection = try? HTTP2ServerConnection.start(
                        adopting: descriptor,
                        tls: tls,
                        loop: loop,
                        configuration: settings,
                        hooks: hooks
                    )
                    if let connection { service.assumeIsolated { $0.connectionOpened(connection) } }
                }
            }
        }
        return listeners
    }

    private static func startControl(
        _ configuration: SimulatorConfiguration,
        _ service: SimulatedService,
        _ loop: EventLoop
    ) async throws -> HTTPServer {
        var settings = HTTPServerConfiguration(address: .loopback(port: configuration.controlPort))
        settings.limits.maxBodyBytes = ControlAPI.mostBodyBytes
        let api = ControlAPI(service)
        return try await HTTPServer.start(settings, loops: [loop]) { await api.answer($0) }
    }
}
