import EventLoop
import Glibc
import HTTP2

// The listeners of both environments, and what befalls a connection that they accept.
extension APNsSimulator {
    static func startListeners(
        _ configuration: SimulatorConfiguration,
        _ tls: TLSContext,
        _ service: SimulatedService,
        _ lean: [LeanLoop]
    ) async throws -> [Endpoint: ServerListener] {
        var listeners: [Endpoint: ServerListener] = [:]
        for environment in SimulatedEnvironment.allCases {
            for role in ListenerRole.allCases {
                let endpoint = Endpoint(environment, role)
                let isLean = role == .push && !lean.isEmpty
                let loops = isLean ? lean.map(\.loop) : [service.loop]
                listeners[endpoint] = try await listener(at: endpoint, configuration.ports[endpoint] ?? 0, loops) {
                    descriptor,
                    loop in
                    let arrival = Arrival(descriptor: descriptor, loop: loop, tls: tls, service: service)
                    arrival.receive(at: endpoint, lean: isLean ? lean.first { $0.loop === loop } : nil)
                }
            }
        }
        return listeners
    }

    private static func listener(
        at endpoint: Endpoint,
        _ port: Int,
        _ loops: [EventLoop],
        accepted: @escaping @Sendable (Int32, EventLoop) -> Void
    ) async throws(SimulatorError) -> ServerListener {
        do throws(EventLoopError) {
            return try await ServerListener.start(on: .loopback(port: port), loops: loops) { descriptor, _, loop in
                accepted(descriptor, loop)
            }
        } catch {
            let name = "\(endpoint.environment.rawValue)-\(endpoint.role.rawValue)"
            throw SimulatorError("cannot listen on 127.0.0.1:\(port) (--\(name)): \(error)")
        }
    }
}

/// A connection that was accepted, before anything is said on it.
private struct Arrival: Sendable {
    let descriptor: Int32
    let loop: EventLoop
    let tls: TLSContext
    let service: SimulatedService

    /// Begins the connection, unless a rule has other plans.
    func receive(at endpoint: SimulatorConfiguration.Endpoint, lean: LeanLoop?) {
        let configuration = service.configuration
        let reception = service.faults.reception(on: endpoint.role)
        switch reception {
        case .refused:
            service.sink.note { $0.refusedConnections += 1 }
            resetWhenClosed(descriptor)
            close(descriptor)
        case .tlsFailure:
            service.sink.note { $0.tlsFailures += 1 }
            failHandshake()
        case .normal, .lateSettings, .withoutWindow:
            guard configuration.roundTrip > .zero else { return begin(at: endpoint, reception, lean) }
            // TCP's round trip and that of the handshake: what is sent from then on is delayed byte by byte.
            loop.schedule(at: .now + configuration.roundTrip * 2) { begin(at: endpoint, reception, lean) }
        }
    }

    private func begin(
        at endpoint: SimulatorConfiguration.Endpoint,
        _ reception: FaultRules.Reception,
        _ lean: LeanLoop?
    ) {
        var delay: Duration?
        if case .lateSettings(let time) = reception { delay = time }
        if let lean {
            var settings = LeanSettings(service.configuration)
            settings.settingsDelay = delay
            if reception == .withoutWindow { settings.session.streamWindowBytes = 0 }
            return lean.assumeIsolated { [settings] in $0.adopt(descriptor, settings) }
        }
        var settings = ListenerSettings.configuration(service.configuration)
        settings.settingsDelay = delay
        if reception == .withoutWindow { settings.streamWindowBytes = 0 }
        let connection = try? HTTP2ServerConnection.start(
            adopting: descriptor,
            tls: tls,
            loop: loop,
            configuration: settings,
            hooks: ProviderConnection(service, at: endpoint, descriptor: descriptor)
        )
        if let connection { service.assumeIsolated { $0.connectionOpened(connection) } }
    }

    /// Waits for the client's first bytes, so that it hears the alert instead of a reset.
    private func failHandshake() {
        let none = TransportHandlers(handshakeDone: { _ in }, bytes: { _ in }, writable: {}, closed: { _ in })
        guard
            let transport = try? Transport(adopting: descriptor, tls: nil, role: .server, loop: loop, handlers: none)
        else { return }
        // A fatal alert, handshake_failure (RFC 8446, 6).
        let alert: [UInt8] = [21, 3, 3, 0, 2, 2, 40]
        transport.replaceHandlers(
            TransportHandlers(
                handshakeDone: { _ in },
                bytes: { _ in
                    transport.write(alert)
                    transport.closeAfterWriting()
                },
                writable: {},
                closed: { _ in }
            )
        )
    }
}
