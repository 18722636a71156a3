package import APNsProtocol
package import EventLoop
package import HTTP2
package import Log

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
    /// Of one lane on one loop. At a round trip of 50 ms each carries 1,600 to 3,200 pushes of 400 bytes a second, as the
    /// peer renews its window by halves or at once.
    package var connectionsPerLane = 16
    /// Ours; the peer's limit counts too.
    package var streamsPerConnection = 1000
    /// Routine pushes that may wait on one loop; a batch that would exceed it waits outside, unless nothing of its lane
    /// waits.
    package var queueLimit = 100_000
    /// Urgent pushes of one lane that may wait beside those, and as many again to channels.
    package var urgentQueueLimit = 10_000
    /// What all other pushes leave free on each connection for urgent ones to channels: a broadcast of 5 KB fits.
    package var urgentReserve = HTTP2Reserve(streams: 8, windowBytes: 6 * 1024)
    /// Requests of one push beyond the first.
    package var resendLimit = 8
    package var connectTimeout: Duration = .seconds(10)
    /// How long a connection that has not answered its first request yet holds up the opening of others.
    package var firstAnswerPatience: Duration = .seconds(5)
    /// The rest between connections that yield little, from the first one to the longest; up to a half is added.
    package var firstReconnect: Duration = .milliseconds(200)
    package var longestReconnect: Duration = .seconds(4)
    /// Whether the streams at once grow with the answers, until a connection of the lane has taken many pushes.
    package var startsSlowly = true
    /// How many pushes that must not be sent twice are under way on one connection: so many are in doubt when it ends.
    package var onceInFlight = 8
    /// How long a connection may leave all its requests without an answer, whatever their deadlines.
    package var unansweredPatience: Duration = .seconds(3)
    /// How long pushes wait without any connection that answers before other lanes are asked for theirs.
    package var starvationPatience: Duration = .seconds(2)
    /// How long pushes wait for another connection rather than go to one that is in doubt.
    package var doubtPatience: Duration = .seconds(3)
    /// Silence before a PING while requests are under way.
    package var busyPing: Duration = .seconds(5)
    /// Silence before a PING while none is: below the 5 minutes after which firewalls forget a flow.
    package var idlePing: Duration = .seconds(60)
    package var pingTimeout: Duration = .seconds(5)
    /// After this silence the first push takes a PING along, since the link may have died without a word.
    package var trustedSilence: Duration = .seconds(3)
    /// How long the answer to that PING may take: what is under way ends as unknown then.
    package var probeTimeout: Duration = .seconds(3)
    /// A PING without an answer for so long puts a connection in doubt.
    package var pingPatience: Duration = .seconds(1)
    /// How long one of several connections of a lane may idle.
    package var shrinkAfter: Duration = .seconds(60)
    /// How long the last one may.
    package var closeAfter: Duration = .seconds(3600)
    /// A connection is replaced at this age.
    package var longestLife: Duration = .seconds(24 * 3600)
    /// A connection of this age may be older than the topic that it refuses: a younger one is asked, once a push.
    package var topicGrace: Duration = .seconds(60)
    /// How often the source is asked for the provider token again.
    package var tokenRefresh: Duration = .seconds(60)
    /// Is told in a sentence why connections fail, the same sentence at most once a minute and loop: nobody else learns
    /// that a root is missing or a port is closed, since pushes only end as not processed.
    package var report: (@Sendable (String) -> Void)?
    /// Takes what an operator wants to find afterwards.
    package var log = Logger.silent
    /// UNIX seconds, to compare with APNs' `date`.
    package var wallClock: @Sendable () -> Int64 = WallTime.now
    /// Looks an endpoint's name up, anew for each connection.
    package var resolve: Connector.Lookup = Resolver.resolve
    /// Of each connection; tests begin near the last, 2^31 - 1.
    package var firstStream: Int32 = 1

    /// How long a thin stream of routine pushes on a connection may be gathered into one write; lone ones, those to
    /// channels and what fills records do not wait.
    package var gathering: Duration = .milliseconds(3)

    package init(endpoints: APNsEndpoints = APNsEndpoints(), tls: TLSContext?, loops: [EventLoop]) {
        self.endpoints = endpoints
        self.tls = tls
        self.loops = loops
    }

    var connection: HTTP2ClientConfiguration {
        var configuration = HTTP2ClientConfiguration()
        configuration.streamLimit = streamsPerConnection
        configuration.firstRequestAlone = true
        configuration.varyingFields = PushHeaders.varyingNames
        configuration.wantedFields = ["apns-unique-id"]
        configuration.wantedErrorFields = ["retry-after", "date"]
        configuration.firstStream = firstStream
        configuration.maxBodyBytes = 4096
        configuration.gathering = gathering
        configuration.busyPing = busyPing
        configuration.idlePing = idlePing
        configuration.pingTimeout = pingTimeout
        configuration.trustedSilence = trustedSilence
        configuration.probeTimeout = probeTimeout
        configuration.pingPatience = pingPatience
        return configuration
    }
}
