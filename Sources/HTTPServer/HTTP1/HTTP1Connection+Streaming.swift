internal import EventLoop
internal import HTTP2

/// A streamed request of an HTTP/1.1 connection, and how far it has come.
struct HTTP1Exchange {
    let head: HTTP1StreamHead
    var task: Task<Void, Never>?
    var waiters = HTTPStreamWaiters()
    /// `100 Continue` is sent when the handler first asks for the body.
    var owesContinue: Bool
    var isBodyRead = false
    var answer = Answer.none
    /// How long the handler has waited for the client, in all.
    var waited = Duration.zero
    var waitsSince: ContinuousClock.Instant?

    enum Answer {
        case none
        case begun(closes: Bool)
        case whole(closes: Bool)
    }

    init(head: HTTP1StreamHead) {
        self.head = head
        owesContinue = head.expectsContinue
    }

    var isHead: Bool { head.request.method == "HEAD" }

    mutating func cancel() {
        waiters.fail(.clientGone)
        task?.cancel()
    }
}

/// What the task of a streamed exchange asks of its connection: each call goes to the loop and changes the exchange there.
extension HTTP1Connection: HTTPStream {
    func stream(_ head: HTTP1StreamHead) {
        guard let route = core.streamRoute(head.request) else { preconditionFailure("a stream without its route") }
        stopReadDeadline()
        handling = .stream(HTTP1Exchange(head: head))
        let task = core.handle(HTTPExchange(request: head.request, stream: self), by: route)
        withStream { $0.task = task }
    }

    /// Changes the exchange in place; nothing happens when there is none any more.
    private func withStream<Result>(_ body: (inout HTTP1Exchange) -> Result) -> Result? {
        guard case .stream(var exchange) = handling else { return nil }
        handling = nil
        let result = body(&exchange)
        handling = .stream(exchange)
        return result
    }

    private nonisolated func onLoop(_ body: @escaping @Sendable (isolated HTTP1Connection) -> Void) {
        loop.perform { self.assumeIsolated { body($0) } }
    }

    nonisolated func read(_ continuation: CheckedContinuation<Result<[UInt8]?, HTTPStreamError>, Never>) {
        onLoop { connection in
            let owesContinue = connection.withStream { exchange in
                exchange.waiters.wait(continuation)
                defer { exchange.owesContinue = false }
                return exchange.owesContinue
            }
            guard let owesContinue else { return continuation.resume(returning: .failure(.clientGone)) }
            if owesContinue { connection.send(HTTP1ResponseSerializer.continueLine) }
            connection.goOn()
        }
    }

    nonisolated func begin(_ response: HTTPResponse, _ continuation: Done) {
        onLoop { connection in
            let result = connection.beginAnswer(response)
            continuation.resume(returning: result)
        }
    }

    private func beginAnswer(_ response: HTTPResponse) -> Result<Void, HTTPStreamError> {
        let isDraining = isDraining
        let began = withStream { exchange -> ([UInt8]?, HTTPStreamError?) in
            if let failure = exchange.waiters.failure { return (nil, failure) }
            guard case .none = exchange.answer else { preconditionFailure("an answer was begun twice") }
            let takesChunks = exchange.head.takesChunks
            let closes = !exchange.head.keepsAlive || !takesChunks || isDraining
            exchange.answer = .begun(closes: closes)
            var output: [UInt8] = []
            HTTP1ResponseSerializer.append(
                response,
                isHead: exchange.isHead,
                closes: closes,
                framing: takesChunks ? .chunked : .untilClose,
                date: core.date,
                to: &output
            )
            return (output, nil)
        }
        guard let began else { return .failure(.clientGone) }
        if let failure = began.1 { return .failure(failure) }
        send(began.0 ?? [])
        return .success(())
    }

    nonisolated func write(_ bytes: [UInt8], _ continuation: Done) {
        onLoop { connection in
            let output = connection.withStream { exchange -> [UInt8] in
                exchange.waiters.wait(continuation)
                guard case .begun = exchange.answer, !exchange.isHead, exchange.waiters.failure == nil else {
                    return []
                }
                return exchange.head.takesChunks ? HTTP1ResponseSerializer.chunk(bytes) : bytes
            }
            guard let output else { return continuation.resume(returning: .failure(.clientGone)) }
            if !output.isEmpty { connection.send(output) }
            connection.goOn()
        }
    }

    nonisolated func respond(_ response: HTTPResponse, _ continuation: CheckedContinuation<Void, Never>) {
        onLoop { connection in
            connection.answerWhole(response)
            continuation.resume()
        }
    }

    private func answerWhole(_ response: HTTPResponse) {
        let isDraining = isDraining
        let answer = withStream { exchange -> (isHead: Bool, closes: Bool)? in
            guard case .none = exchange.answer, exchange.waiters.failure == nil else { return nil }
            let closes = !exchange.head.keepsAlive || !exchange.isBodyRead || isDraining
            exchange.answer = .whole(closes: closes)
            return (exchange.isHead, closes)
        }
        if let answer = answer ?? nil { write(response, isHead: answer.isHead, closes: answer.closes) }
    }

    nonisolated func end() {
        onLoop { $0.endStream() }
    }

    /// The handler has returned: the answer ends, and the next request is taken if this one was read whole.
    private func endStream() {
        guard case .stream(let exchange) = handling else { return }
        stopReadDeadline()
        handling = nil
        switch (exchange.answer, exchange.waiters.failure) {
        case (.begun, .refused):
            // The answer cannot be taken back; cut short, it is not taken for whole.
            lingerOn()
        case (_, .refused(let refusal)): refuse(refusal)
        case (.none, _): refuse(HTTPRefusal(500, "the request was not answered"))
        case (.begun(let closes), _):
            if exchange.head.takesChunks, !exchange.isHead { send(HTTP1ResponseSerializer.lastChunk) }
            leave(closes: closes, isBodyRead: exchange.isBodyRead)
        case (.whole(let closes), _): leave(closes: closes, isBodyRead: exchange.isBodyRead)
        }
    }

    private func leave(closes: Bool, isBodyRead: Bool) {
        if !isBodyRead { lingerOn() } else if closes || isDraining { finish() } else { goOn() }
    }

    func failStream(_ refusal: HTTPRefusal) {
        withStream { $0.waiters.fail(.refused(refusal)) }
    }

    /// Hands the next piece to a handler that waits for one, and lets a writer go on whose bytes have gone out.
    func goOnStreaming() {
        while case .stream(let exchange) = handling, exchange.waiters.isReading {
            if exchange.isBodyRead {
                withStream { $0.waiters.read(nil) }
                break
            }
            guard let event = parser.next() else {
                if isInputOver { return close() }
                break
            }
            switch event {
            case .bodyPart(let bytes): withStream { $0.waiters.read(bytes) }
            case .bodyEnded: withStream { $0.isBodyRead = true }
            case .refused(let refusal): failStream(refusal)
            case .continueExpected, .request, .streamBegan: preconditionFailure("a request within a body")
            }
        }
        letWriterGoOn()
        timeReading()
    }

    private func letWriterGoOn() {
        guard case .stream(let exchange) = handling, exchange.waiters.isWriting else { return }
        let limit = exchange.isBodyRead ? HTTPExchange.mostWaiting : HTTPExchange.mostAhead
        // Asking makes the transport tell when there is room again.
        guard !transport.isBacklogged || transport.pendingBytes < limit else { return }
        withStream { $0.waiters.written() }
    }

    /// The client's time runs while the handler waits for it, and is a body's time in all.
    private func timeReading() {
        guard case .stream(let exchange) = handling else { return }
        if exchange.waiters.isReading {
            guard exchange.waitsSince == nil else { return }
            withStream { $0.waitsSince = .now }
            setReadDeadline(after: max(.zero, core.limits.bodyDeadline - exchange.waited))
        } else if let since = exchange.waitsSince {
            withStream { exchange in
                exchange.waited += .now - since
                exchange.waitsSince = nil
            }
            stopReadDeadline()
        }
    }
}
