/// What a client may use up before it is refused (sizes) or let go (times).
package struct HTTPLimits: Sendable {
    /// A larger body is answered 413.
    package var maxBodyBytes = 16 << 20
    /// All header fields of a request together, and again its trailers: more is answered 431.
    package var maxHeaderBytes = 32 << 10
    package var maxHeaderFields = 100
    /// The request target of HTTP/1.1: a longer one is answered 414.
    package var maxTargetBytes = 8 << 10

    /// Connections open at once; further ones wait in the kernel's queue.
    package var maxConnections = 10_000
    /// Requests of one HTTP/2 connection that are open at once.
    package var maxConcurrentStreams = 128

    package var handshakeDeadline = Duration.seconds(10)
    /// From the first byte of a head to its end.
    package var headerDeadline = Duration.seconds(15)
    /// From the end of a head to the end of its body.
    package var bodyDeadline = Duration.seconds(60)
    /// A connection on which nothing is asked for so long is closed.
    package var idleDeadline = Duration.seconds(120)
    /// A client that takes no byte of its answers for so long is let go.
    package var writeDeadline = Duration.seconds(30)

    package init() {}
}
