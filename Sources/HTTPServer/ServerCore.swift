internal import EventLoop
internal import HTTP2

/// What the connections of one server share.
final class ServerCore: Sendable {
    let configuration: HTTPServerConfiguration
    let registry = ConnectionRegistry()
    private let handler: HTTPHandler
    private let streaming: HTTPStreamRouter
    private let dates = HTTPDateCache()

    init(configuration: HTTPServerConfiguration, handler: @escaping HTTPHandler, streaming: @escaping HTTPStreamRouter)
    {
        self.configuration = configuration
        self.handler = handler
        self.streaming = streaming
    }

    var limits: HTTPLimits { configuration.limits }

    /// The value of `date`, if answers carry it.
    var date: String? { configuration.sendsDate ? dates.now : nil }

    /// A body above this is not parsed where connections wait for their turn.
    private static let smallBody = 16 << 10

    /// Runs the handler in a task that the connection owns, and cancels when nobody waits for its answer.
    ///
    /// - Parameters:
    ///   - request: What to answer.
    ///   - loop: The connection's.
    ///   - answer: Takes the answer.
    /// - Returns: The task.
    func handle(
        _ request: HTTPRequest,
        on loop: EventLoop,
        answer: @escaping @Sendable (HTTPResponse) async -> Void
    ) -> Task<Void, Never> {
        registry.handlerBegan()
        let isQuick = configuration.runsHandlersOnLoops && request.body.count <= Self.smallBody
        return Task.detached(executorPreference: isQuick ? loop : nil) { [self] in
            let response = await handler(request)
            await answer(response)
            registry.handlerEnded()
        }
    }

    /// The route of a request that is streamed.
    func streamRoute(_ head: HTTPRequest) -> HTTPStreamRoute? { streaming(head) }

    /// Runs the handler of a streamed exchange off the loop.
    func handle(_ exchange: HTTPExchange, by route: HTTPStreamRoute) -> Task<Void, Never> {
        registry.handlerBegan()
        return Task.detached { [self] in
            await route.handler(exchange)
            exchange.end()
            registry.handlerEnded()
        }
    }

    /// How HTTP/2 connections are to behave.
    var http2: HTTP2ServerConfiguration {
        var configuration = HTTP2ServerConfiguration()
        configuration.offersStreaming = true
        configuration.maxConcurrentStreams = limits.maxConcurrentStreams
        configuration.maxHeaderListBytes = limits.maxHeaderBytes
        configuration.maxBodyBytes = limits.maxBodyBytes
        configuration.maxBufferedBytes = max(configuration.maxBufferedBytes, 2 * limits.maxBodyBytes)
        configuration.handshakeDeadline = limits.handshakeDeadline
        configuration.requestDeadline = limits.bodyDeadline
        configuration.idleDeadline = limits.idleDeadline
        configuration.writeDeadline = limits.writeDeadline
        return configuration
    }
}
