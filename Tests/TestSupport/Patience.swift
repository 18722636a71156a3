package import APNs
internal import APNsProtocol
package import APNsSimulator
package import EventLoop
package import HTTP2

/// Time-outs for tests that are not about them: a busy machine must not look like a broken peer.
package enum Patience {
    /// Longer than anything takes on a busy machine, and shorter than a stuck test's time limit.
    package static let long = Duration.seconds(90)
}

extension ContinuousClock.Instant {
    /// The deadline of whatever a test expects to be done in time.
    package static var patient: Self { .now + Patience.long }
}

extension HTTP2ClientConfiguration {
    /// Takes no slow answer for a dead connection.
    package static var patient: Self {
        var configuration = Self()
        configuration.busyPing = Patience.long
        configuration.idlePing = Patience.long
        configuration.pingTimeout = Patience.long
        configuration.trustedSilence = Patience.long
        configuration.probeTimeout = Patience.long
        configuration.pingPatience = Patience.long
        return configuration
    }
}

extension SenderPoolConfiguration {
    /// Takes no slow answer for a dead connection, and opens no second one beside it.
    package mutating func bePatient() {
        connectTimeout = Patience.long
        firstAnswerPatience = Patience.long
        busyPing = Patience.long
        idlePing = Patience.long
        pingTimeout = Patience.long
        trustedSilence = Patience.long
        probeTimeout = Patience.long
        pingPatience = Patience.long
        unansweredPatience = Patience.long
        starvationPatience = Patience.long
    }

    /// Against a simulator, over TLS, with patience.
    ///
    /// - Parameters:
    ///   - simulator: Both of its environments are the endpoints.
    ///   - loop: The pool's; it outlives it.
    /// - Returns: The configuration.
    /// - Throws: If the simulator's certificate cannot be read.
    package static func testing(_ simulator: APNsSimulator, on loop: EventLoop) throws -> SenderPoolConfiguration {
        var endpoints = APNsEndpoints()
        for (environment, simulated) in [
            (APNsEnvironment.production, SimulatedEnvironment.production), (.sandbox, .sandbox),
        ] {
            for (role, listener) in [(LaneRole.push, ListenerRole.push), (.manage, .manage)] {
                let port = simulator.port(simulated, listener)
                endpoints[environment, role] = APNsEndpoint(host: "localhost", port: port)
            }
        }
        let tls = try TLSContext.client(caFile: simulator.caFile)
        var configuration = SenderPoolConfiguration(endpoints: endpoints, tls: tls, loops: [loop])
        configuration.bePatient()
        return configuration
    }
}
