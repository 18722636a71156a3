package import EventLoop
internal import HTTP2

/// Serves HTTP/1.1 and HTTP/2 on one port, with TLS or without.
package final class HTTPServer: Sendable {
    private let listener: ServerListener
    private let core: ServerCore

    /// Begins to accept.
    ///
    /// - Parameters:
    ///   - configuration: Where, and what is put up with.
    ///   - loops: At least one; connections are dealt to them in turn. They outlive the server.
    ///   - handler: Called for each request that is well formed and within the limits.
    ///   - streaming: Which requests are answered piece by piece instead.
    /// - Returns: The server, which runs until ``drain(by:)``.
    /// - Throws: ``HTTPServerError/cannotListen(_:_:)`` when the address cannot be had.
    package static func start(
        _ configuration: HTTPServerConfiguration,
        loops: [EventLoop],
        handler: @escaping HTTPHandler,
        streaming: @escaping HTTPStreamRouter = { _ in nil }
    ) async throws(HTTPServerError) -> HTTPServer {
        let core = ServerCore(configuration: configuration, handler: handler, streaming: streaming)
        do throws(EventLoopError) {
            let listener = try await ServerListener.start(
                on: configuration.address,
                loops: loops,
                maxConnections: configuration.limits.maxConnections
            ) { descriptor, place, loop in
                Negotiation.begin(descriptor, place: place, loop: loop, core: core)
            }
            return HTTPServer(listener: listener, core: core)
        } catch {
            throw .cannotListen("\(configuration.address)", error)
        }
    }

    private init(listener: ServerListener, core: ServerCore) {
        self.listener = listener
        self.core = core
    }

    package var address: SocketAddress { listener.address }

    package var port: Int { listener.port }

    package var openConnections: Int { core.registry.openConnections }

    /// Ends in good order: accepts no more, lets idle connections go, tells the others (`connection: close`, GOAWAY in
    /// two steps), and waits for what was asked to be answered.
    ///
    /// At the deadline the rest is closed and its handlers are cancelled; a handler that does not heed that is waited for
    /// two seconds more.
    package func drain(by deadline: ContinuousClock.Instant) async {
        await listener.close()
        core.registry.drainAll()
        if await core.registry.waitUntilEmpty(by: deadline) { return }
        core.registry.abortAll()
        _ = await core.registry.waitUntilEmpty(by: .now + .seconds(2))
    }
}

/// Why a server could not start.
package enum HTTPServerError: Error, Sendable, CustomStringConvertible {
    case cannotListen(String, EventLoopError)

    package var description: String {
        switch self {
        case .cannotListen(let address, let error): "cannot listen on \(address): \(error)"
        }
    }
}
