/// How a server's end of an HTTP/2 connection behaves.
package struct HTTP2ServerConfiguration: Sendable {
    /// Whether the hooks are asked for each request if its body is to be streamed.
    package var offersStreaming = false

    // SETTINGS (RFC 9113, 6.5.2)
    package var headerTableBytes = 4096
    package var maxConcurrentStreams = 128
    package var streamWindowBytes = 256 << 10
    package var connectionWindowBytes = 1 << 20
    package var maxFrameBytes = 16 << 10
    /// Told to the peer, and held: a longer list is answered 431.
    package var maxHeaderListBytes = 32 << 10

    /// A longer body is answered 413.
    package var maxBodyBytes = 16 << 20
    /// All bodies of a connection that are being read: the stream that goes over it is reset as overload.
    package var maxBufferedBytes = 64 << 20
    package var flood = ServerFloodLimits()

    // Deadlines; nil: none.
    /// For the TLS handshake and the peer's first SETTINGS.
    package var handshakeDeadline: Duration?
    /// From a request's first byte to its last: answered 408.
    package var requestDeadline: Duration?
    /// Without an open stream: GOAWAY, then the end.
    package var idleDeadline: Duration?
    /// Bytes or bodies wait and the peer takes nothing: the end.
    package var writeDeadline: Duration?

    /// What GOAWAY says to a peer that opened more streams than the limit it had acknowledged; nil: PROTOCOL_ERROR.
    package var overLimit: (code: UInt32, debug: String)?

    /// Every byte of ours leaves so much later: a stand-in for distance.
    package var outputDelay: Duration?
    /// The first SETTINGS, and all that follows them, come so long after the connection.
    package var settingsDelay: Duration?

    package init() {}
}

/// What a peer may cost us without asking for anything, each as a bucket: so many at once, so many a second.
package struct ServerFloodLimits: Sendable {
    /// Streams that the peer opens and resets itself ("rapid reset", CVE-2023-44487).
    package var resetBurst = 1000
    package var resetsPerSecond = 33
    /// SETTINGS, PING, PRIORITY, and DATA frames without data.
    package var controlBurst = 2000
    package var controlsPerSecond = 200

    package init() {}
}

/// Counts what ``ServerFloodLimits`` bound. A plain value; time is passed in.
struct ServerFloodGuard {
    private let limits: ServerFloodLimits
    private var resets: Bucket
    private var controls: Bucket

    private struct Bucket {
        let burst: Double
        let perSecond: Double
        var level = 0.0
        var updated: ContinuousClock.Instant?

        init(burst: Int, perSecond: Int) {
            (self.burst, self.perSecond) = (Double(burst), Double(perSecond))
        }

        mutating func add(_ count: Int, at now: ContinuousClock.Instant) -> Bool {
            if let updated {
                let elapsed = (now - updated) / .seconds(1)
                level = max(0, level - elapsed * perSecond)
            }
            updated = now
            level += Double(count)
            return level <= burst
        }
    }

    init(_ limits: ServerFloodLimits) {
        self.limits = limits
        resets = Bucket(burst: limits.resetBurst, perSecond: limits.resetsPerSecond)
        controls = Bucket(burst: limits.controlBurst, perSecond: limits.controlsPerSecond)
    }

    /// Whether the peer is still within its limits after so many more.
    mutating func add(resets newResets: Int, controls newControls: Int, at now: ContinuousClock.Instant) -> Bool {
        let resetsFit = resets.add(newResets, at: now)
        return controls.add(newControls, at: now) && resetsFit
    }
}
