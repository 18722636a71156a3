internal import EventLoop
internal import HTTP2

/// The requests of one HTTP/2 connection: each stream's handler, until it is answered or the client goes.
final class HTTP2Requests: HTTP2ServerHooks {
    let core: ServerCore
    private let place: ServerPlace
    private let loop: EventLoop
    private var tasks: [Int32: Task<Void, Never>] = [:]
    /// Handlers of streams that were reset run on until they notice: they count, or resetting would go around the limit.
    var running = 0
    var exchanges: [Int32: HTTP2Exchange] = [:]

    private init(core: ServerCore, place: ServerPlace, loop: EventLoop) {
        self.core = core
        self.place = place
        self.loop = loop
    }

    /// Takes an open transport over. On the loop's thread.
    static func begin(
        on transport: Transport,
        read: UnsafeRawBufferPointer,
        place: ServerPlace,
        loop: EventLoop,
        core: ServerCore
    ) {
        let connection = HTTP2ServerConnection.start(
            takingOver: transport,
            read: read,
            loop: loop,
            configuration: core.http2,
            hooks: HTTP2Requests(core: core, place: place, loop: loop)
        )
        // What was read may have ended it already.
        guard !connection.assumeIsolated({ $0.isClosed }) else { return }
        core.registry.add(
            connection,
            .init(
                drain: { loop.perform { connection.assumeIsolated { $0.startDraining() } } },
                abort: { loop.perform { connection.assumeIsolated { $0.close() } } }
            )
        )
    }

    func requestReceived(
        _ request: HTTP2ServerRequest,
        on stream: Int32,
        of connection: isolated HTTP2ServerConnection
    ) {
        guard admits(stream, of: connection) else { return }
        guard request.head.count <= core.limits.maxHeaderFields + 4 else {
            return refuse(.headTooLarge, on: stream, of: connection)
        }
        guard let request = HTTPRequest(request) else {
            return refuse(.badRequest("not a request that can be answered"), on: stream, of: connection)
        }
        running += 1
        let isHead = request.method == "HEAD"
        tasks[stream] = core.handle(request, on: loop) { [weak connection] response in
            await connection?.withHooks { hooks, connection in
                (hooks as? HTTP2Requests)?.answer(stream, with: response, isHead: isHead, of: connection)
            }
        }
    }

    func admits(_ stream: Int32, of connection: isolated HTTP2ServerConnection) -> Bool {
        if running < 2 * core.limits.maxConcurrentStreams { return true }
        connection.reset(stream: stream, code: 0x7)  // REFUSED_STREAM: it was not looked at
        return false
    }

    private func answer(
        _ stream: Int32,
        with response: HTTPResponse,
        isHead: Bool,
        of connection: isolated HTTP2ServerConnection
    ) {
        running -= 1
        // Without a task the stream is gone.
        guard tasks.removeValue(forKey: stream) != nil else { return }
        let hasNoBody = isHead || response.status == 204 || response.status == 304
        connection.respond(
            stream: stream,
            head: HTTP2HeaderBlock(response, date: core.date),
            body: hasNoBody ? [] : response.body
        )
    }

    func requestRefused(
        status: Int,
        excess: HTTP2BodyExcess?,
        on stream: Int32,
        of connection: isolated HTTP2ServerConnection
    ) {
        let refusal: HTTPRefusal =
            switch (status, excess) {
            case (_, let excess?): .bodyTooLarge(size: excess.size, limit: excess.limit)
            case (431, _): .headTooLarge
            default: HTTPRefusal(status, "the request did not come in time")
            }
        if exchanges[stream] != nil {
            exchanges[stream]?.waiters.fail(.refused(refusal))
        } else {
            refuse(refusal, on: stream, of: connection)
        }
    }

    func streamClosed(_ stream: Int32, code: UInt32, of connection: isolated HTTP2ServerConnection) {
        tasks.removeValue(forKey: stream)?.cancel()
        exchanges[stream]?.cancel()
    }

    func connectionClosed(_ reason: HTTP2ServerCloseReason, of connection: isolated HTTP2ServerConnection) {
        for task in tasks.values { task.cancel() }
        tasks = [:]
        for stream in exchanges.keys { exchanges[stream]?.cancel() }
        exchanges = [:]
        core.registry.remove(connection)
    }

    func refuse(_ refusal: HTTPRefusal, on stream: Int32, of connection: isolated HTTP2ServerConnection) {
        let response = core.configuration.refuse(refusal)
        connection.respond(
            stream: stream,
            head: HTTP2HeaderBlock(response, date: core.date),
            body: response.body
        )
    }
}

extension HTTP2HeaderBlock {
    /// Fields that HTTP/2 has no place for (RFC 9113, 8.2.2), or that the server sets itself.
    private static let dropped: Set = [
        "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade", "content-length",
    ]

    init(_ response: HTTPResponse, date: String?, isWhole: Bool = true) {
        self.init()
        append(":status", String(response.status).utf8)
        for (name, value) in response.fields.pairs where !Self.dropped.contains(name) {
            append(name.utf8, value.utf8.lazy.map { HTTP1Syntax.isValue($0) ? $0 : HTTP1Syntax.space })
        }
        if let date, response.fields["date"] == nil { append("date", date.utf8) }
        if isWhole, response.status >= 200, response.status != 204, response.status != 304 {
            append("content-length", String(response.body.count).utf8)
        }
    }
}
