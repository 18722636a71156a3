internal import EventLoop
internal import HTTP2

/// A streamed request of an HTTP/2 connection, and how far it has come.
struct HTTP2Exchange {
    let isHead: Bool
    var task: Task<Void, Never>?
    var waiters = HTTPStreamWaiters()
    var isBodyRead = false
    var hasAnswer = false
    var waited = Duration.zero
    var waitsSince: ContinuousClock.Instant?

    init(isHead: Bool) {
        self.isHead = isHead
    }

    mutating func cancel() {
        waiters.fail(.clientGone)
        task?.cancel()
    }
}

extension HTTP2Requests {
    func streamLimit(
        _ request: HTTP2ServerRequest,
        on stream: Int32,
        of connection: isolated HTTP2ServerConnection
    ) -> Int? {
        guard running < 2 * core.limits.maxConcurrentStreams, let head = HTTPRequest(request.withoutBody),
            let route = core.streamRoute(head)
        else { return nil }
        running += 1
        let link = HTTP2Stream(connection: connection, loop: connection.loop, number: stream)
        var exchange = HTTP2Exchange(isHead: head.method == "HEAD")
        exchange.task = core.handle(HTTPExchange(request: head, stream: link), by: route)
        exchanges[stream] = exchange
        return route.maxBodyBytes
    }

    func bodyArrived(on stream: Int32, of connection: isolated HTTP2ServerConnection) {
        guard let exchange = exchanges[stream], exchange.waiters.isReading else { return }
        if exchange.isBodyRead {
            exchanges[stream]?.waiters.read(nil)
        } else if let (bytes, isLast) = connection.takeBody(stream: stream) {
            if isLast { exchanges[stream]?.isBodyRead = true }
            if !bytes.isEmpty || isLast { exchanges[stream]?.waiters.read(bytes.isEmpty ? nil : bytes) }
        }
        time(stream, of: connection)
    }

    func answerHasRoom(on stream: Int32, of connection: isolated HTTP2ServerConnection) {
        exchanges[stream]?.waiters.written()
    }

    /// The client's time runs while the handler waits for it, and is a body's time in all.
    private func time(_ stream: Int32, of connection: isolated HTTP2ServerConnection) {
        guard let exchange = exchanges[stream] else { return }
        if exchange.waiters.isReading {
            guard exchange.waitsSince == nil else { return }
            exchanges[stream]?.waitsSince = .now
            connection.beginWaiting(stream: stream, waited: exchange.waited)
        } else if let since = exchange.waitsSince {
            exchanges[stream]?.waited += .now - since
            exchanges[stream]?.waitsSince = nil
            connection.endWaiting(stream: stream)
        }
    }

    // MARK: - What the exchange's task asks for

    func read(
        _ stream: Int32,
        _ continuation: CheckedContinuation<Result<[UInt8]?, HTTPStreamError>, Never>,
        of connection: isolated HTTP2ServerConnection
    ) {
        guard exchanges[stream] != nil else { return continuation.resume(returning: .failure(.clientGone)) }
        exchanges[stream]?.waiters.wait(continuation)
        bodyArrived(on: stream, of: connection)
    }

    func begin(
        _ stream: Int32,
        _ response: HTTPResponse,
        of connection: isolated HTTP2ServerConnection
    ) -> Result<Void, HTTPStreamError> {
        guard let exchange = exchanges[stream] else { return .failure(.clientGone) }
        if let failure = exchange.waiters.failure { return .failure(failure) }
        precondition(!exchange.hasAnswer, "an answer was begun twice")
        exchanges[stream]?.hasAnswer = true
        let head = HTTP2HeaderBlock(response, date: core.date, isWhole: false)
        if exchange.isHead {
            connection.respond(stream: stream, head: head)
        } else {
            connection.beginAnswer(stream: stream, head: head)
        }
        return .success(())
    }

    func write(
        _ stream: Int32,
        _ bytes: [UInt8],
        _ continuation: HTTPStream.Done,
        of connection: isolated HTTP2ServerConnection
    ) {
        guard let exchange = exchanges[stream] else { return continuation.resume(returning: .failure(.clientGone)) }
        exchanges[stream]?.waiters.wait(continuation)
        guard exchange.waiters.failure == nil else { return }
        guard !exchange.isHead, let waiting = connection.append(stream: stream, bytes, isLast: false) else {
            exchanges[stream]?.waiters.written()
            return
        }
        if waiting < (exchange.isBodyRead ? HTTPExchange.mostWaiting : HTTPExchange.mostAhead) {
            exchanges[stream]?.waiters.written()
        } else {
            connection.askForRoom(stream: stream)
        }
    }

    func respond(_ stream: Int32, _ response: HTTPResponse, of connection: isolated HTTP2ServerConnection) {
        guard let exchange = exchanges[stream], !exchange.hasAnswer, exchange.waiters.failure == nil else { return }
        exchanges[stream]?.hasAnswer = true
        connection.respond(
            stream: stream,
            head: HTTP2HeaderBlock(response, date: core.date),
            body: exchange.isHead ? [] : response.body
        )
    }

    /// The handler has returned: the answer ends, and what was not read of the request is dropped.
    func end(_ stream: Int32, of connection: isolated HTTP2ServerConnection) {
        running -= 1
        guard let exchange = exchanges.removeValue(forKey: stream) else { return }
        connection.dropBody(stream: stream)
        switch (exchange.hasAnswer, exchange.waiters.failure) {
        case (true, .refused): connection.reset(stream: stream, code: 0x2)  // INTERNAL_ERROR: cut short, not whole
        case (true, _): _ = connection.append(stream: stream, [], isLast: true)
        case (false, .refused(let refusal)): refuse(refusal, on: stream, of: connection)
        case (false, .clientGone): break
        case (false, nil): refuse(HTTPRefusal(500, "the request was not answered"), on: stream, of: connection)
        }
    }
}

extension HTTP2ServerRequest {
    fileprivate var withoutBody: HTTP2ServerRequest { HTTP2ServerRequest(head: head) }
}

/// The way from an exchange's task to its stream.
struct HTTP2Stream: HTTPStream {
    let connection: HTTP2ServerConnection
    let loop: EventLoop
    let number: Int32

    private func onLoop(_ body: @escaping @Sendable (HTTP2Requests, isolated HTTP2ServerConnection) -> Void) {
        loop.perform { [connection] in
            connection.assumeIsolated { connection in
                connection.withHooks { hooks, connection in
                    guard let requests = hooks as? HTTP2Requests else {
                        preconditionFailure("a server's hooks changed")
                    }
                    body(requests, connection)
                }
            }
        }
    }

    func read(_ continuation: CheckedContinuation<Result<[UInt8]?, HTTPStreamError>, Never>) {
        onLoop { [number] requests, connection in requests.read(number, continuation, of: connection) }
    }

    func respond(_ response: HTTPResponse, _ continuation: CheckedContinuation<Void, Never>) {
        onLoop { [number] requests, connection in
            requests.respond(number, response, of: connection)
            continuation.resume()
        }
    }

    func begin(_ response: HTTPResponse, _ continuation: Done) {
        onLoop { [number] requests, connection in
            continuation.resume(returning: requests.begin(number, response, of: connection))
        }
    }

    func write(_ bytes: [UInt8], _ continuation: Done) {
        onLoop { [number] requests, connection in requests.write(number, bytes, continuation, of: connection) }
    }

    func end() {
        onLoop { [number] requests, connection in requests.end(number, of: connection) }
    }
}
