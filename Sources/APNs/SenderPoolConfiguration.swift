package import APNsProtocol
package import EventLoop
package import HTTP2

/// Where one kind of request goes.
package struct APNsEndpoint: Hashable, Sendable {
    package let host: String
    package let port: Int

    package init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    /// `:authority`: the port only where it is not HTTPS' own.
    var authority: String { port == 443 ? host : "\(host):\(port)" }
}

/// APNs' hosts by environment and role; settings of the operator, never of a tenant.
package struct APNsEndpoints: Sendable {
    private struct Key: Hashable {
        let environment: APNsEnvironment
        let role: LaneRole
    }

    private var endpoints: [Key: APNsEndpoint] = [:]

    /// Apple's. Broadcasts go to the push host.
    package init() {
        for environment in APNsEnvironment.allCases {
            self[environment, .push] = APNsEndpoint(host: environment.pushHost, port: environment.pushPort)
            self[environment, .manage] = APNsEndpoint(host: environment.manageHost, port: environment.managePort)
        }
    }

    /// Without an endpoint of their own, broadcasts have the pushes'.
    package subscript(environment: APNsEnvironment, role: LaneRole) -> APNsEndpoint {
        get {
            if let endpoint = endpoints[Key(environment: environment, role: role)] { return endpoint }
            guard let push = endpoints[Key(environment: environment, role: .push)] else {
                preconditionFailure("no endpoint for \(environment)")
            }
            return push
        }
        set { endpoints[Key(environment: environment, role: role)] = newValue }
    }
}

/// How a sender pool behaves.
package struct SenderPoolConfiguration: Sendable {
    package var endpoints: APNsEndpoints
    /// Without it HTTP/2 is spoken with prior knowledge: for tests.
    package var tls: TLSContext?
    /// The pool's threads; they outlive it.
    package var loops: [EventLoop]
    /// Of one lane on one loop.
    package var connectionsPerLane = 8
    /// Ours; the peer's limit counts too.
    package var streamsPerConnection = 1000
    /// Pushes that may wait on one loop; a batch that would exceed it waits outside, unless nothing waits.
    package var queueLimit = 100_000
    /// Requests of one push beyond the first.
    package var resendLimit = 8
    package var connectTimeout: Duration = .seconds(10)
    package var firstReconnect: Duration = .milliseconds(100)
    package var longestReconnect: Duration = .seconds(30)
    /// Silence before a PING while requests are under way.
    package var busyPing: Duration = .seconds(5)
    /// Silence before a PING while none is: below the 5 minutes after which firewalls forget a flow.
    package var idlePing: Duration = .seconds(60)
    package var pingTimeout: Duration = .seconds(10)
    /// How long one of several connections of a lane may idle.
    package var shrinkAfter: Duration = .seconds(60)
    /// How long the last one may.
    package var closeAfter: Duration = .seconds(3600)
    /// A connection is replaced at this age.
    package var longestLife: Duration = .seconds(24 * 3600)
    /// How often the source is asked for the provider token again.
    package var tokenRefresh: Duration = .seconds(60)
    /// Is told in a sentence why connections fail, the same sentence at most once a minute and loop: nobody else learns
    /// that a root is missing or a port is closed, since pushes only end as not processed.
    package var report: (@Sendable (String) -> Void)?

    package init(endpoints: APNsEndpoints = APNsEndpoints(), tls: TLSContext?, loops: [EventLoop]) {
        self.endpoints = endpoints
        self.tls = tls
        self.loops = loops
    }

    var connection: HTTP2ClientConfiguration {
        var configuration = HTTP2ClientConfiguration()
        configuration.streamLimit = streamsPerConnection
        configuration.firstRequestAlone = true
        configuration.wantedFields = ["apns-unique-id", "retry-after"]
        configuration.maxBodyBytes = 4096
        configuration.busyPing = busyPing
        configuration.idlePing = idlePing
        configuration.pingTimeout = pingTimeout
        return configuration
    }
}
