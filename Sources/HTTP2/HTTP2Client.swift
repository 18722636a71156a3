package import EventLoop

/// One HTTP/2 connection for whole requests and responses: over TLS, or with prior knowledge without.
///
/// It does not reconnect: when ``isUsable`` is false, another one is connected. Requests beyond the peer's stream limit wait
/// their turn, each with its own deadline; at most ``waitingLimit`` of them.
package actor HTTP2Client {
    /// How many requests may wait for a stream; more are refused as not processed.
    package static let waitingLimit = 10_000

    private struct Waiting {
        let request: HTTP2RequestTemplate
        let body: HTTP2Body?
        let deadline: ContinuousClock.Instant
        let number: Int
    }

    /// Whether the handshake has come to its end, which may be before anybody waits for it.
    private enum Opening {
        case pending
        case awaited(CheckedContinuation<HTTP2Error?, Never>)
        case done(HTTP2Error?)
    }

    private typealias Answer = Result<HTTPResponse, HTTP2Error>

    private let loop: EventLoop
    private let authority: String
    private let scheme: String
    private var connection: HTTP2ClientConnection?
    private var opening: Opening = .pending
    private var waiting: [Waiting] = []
    private var firstWaiting = 0
    private var requestNumbers: [Int?] = []  // by slot
    private var answers: [Int: CheckedContinuation<Answer, Never>] = [:]
    private var lastNumber = 0
    private let bodyLimit: Int
    private let varyingFields: Set<String>

    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private init(loop: EventLoop, authority: String, scheme: String, configuration: HTTP2ClientConfiguration) {
        self.loop = loop
        self.authority = authority
        self.scheme = scheme
        bodyLimit = configuration.maxBodyBytes
        varyingFields = configuration.varyingFields
    }

    /// Resolves, connects and shakes hands.
    ///
    /// - Parameters:
    ///   - host: A name, resolved anew, or a literal address. The certificate must be for it.
    ///   - port: The peer's.
    ///   - tls: Without it HTTP/2 is spoken with prior knowledge.
    ///   - loop: The connection lives on it; it outlives the client.
    ///   - deadline: For all of it.
    ///   - configuration: Limits and intervals.
    /// - Returns: A connection that takes requests.
    /// - Throws: ``HTTP2Error/cannotConnect(_:)``.
    package static func connect(
        host: String,
        port: Int,
        tls: TLSContext?,
        on loop: EventLoop,
        by deadline: ContinuousClock.Instant,
        configuration: HTTP2ClientConfiguration = HTTP2ClientConfiguration()
    ) async throws(HTTP2Error) -> HTTP2Client {
        let isDefaultPort = port == (tls == nil ? 80 : 443)
        let name = host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host
        let client = HTTP2Client(
            loop: loop,
            authority: isDefaultPort ? name : "\(name):\(port)",
            scheme: tls == nil ? "http" : "https",
            configuration: configuration
        )
        try await client.open(host: host, port: port, tls: tls, by: deadline, configuration: configuration)
        return client
    }

    /// Sends a request and waits for its whole response.
    ///
    /// - Parameters:
    ///   - request: Empty `authority` and `scheme` stand for the connection's own.
    ///   - deadline: For waiting, sending and the answer together.
    /// - Returns: The response, of whatever status.
    /// - Throws: ``HTTP2Error``; ``HTTP2Error/notProcessed`` says that it may be sent again safely.
    package func send(
        _ request: HTTPRequest,
        by deadline: ContinuousClock.Instant
    ) async throws(HTTP2Error) -> HTTPResponse {
        guard isUsable else { throw .notProcessed }
        guard waiting.count - firstWaiting < Self.waitingLimit else { throw .notProcessed }
        lastNumber += 1
        let number = lastNumber
        let entry = Waiting(
            request: template(of: request),
            body: request.body.isEmpty ? nil : HTTP2Body(request.body),
            deadline: deadline,
            number: number
        )
        let timer = loop.schedule(at: deadline) { self.expireWaiting(number) }
        let answer: Answer = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                // The connection may have gone while we came here.
                guard isUsable else { return continuation.resume(returning: .failure(.notProcessed)) }
                answers[number] = continuation
                waiting.append(entry)
                submitWaiting()
            }
        } onCancel: {
            Task { await self.cancel(number) }
        }
        loop.cancel(timer)
        return try answer.get()
    }

    /// Whether requests can be given to it: neither draining nor closed.
    package var isUsable: Bool {
        guard let connection else { return false }
        return !connection.isDraining && !connection.isClosed
    }

    /// Closes at once; requests under way end as ``HTTP2Error/connectionLost(_:)``.
    package func close() {
        connection?.close()
    }

    // MARK: - The connection

    private func open(
        host: String,
        port: Int,
        tls: TLSContext?,
        by deadline: ContinuousClock.Instant,
        configuration: HTTP2ClientConfiguration
    ) async throws(HTTP2Error) {
        let bare = host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host
        let descriptor = try await Connector.connect(host: bare, port: port, on: loop, by: deadline)
        connection = try HTTP2ClientConnection(
            adopting: descriptor,
            tls: tls,
            serverName: bare,
            loop: loop,
            by: deadline,
            configuration: configuration,
            handlers: HTTP2ClientHandlers(
                ready: { self.opened(nil) },
                ended: { self.ended(slot: $0, $1, $2) },
                room: { self.submitWaiting() },
                draining: { _ in },
                closed: { self.closed($0) }
            )
        )
        let failure = await withCheckedContinuation { continuation in
            if case .done(let failure) = opening { return continuation.resume(returning: failure) }
            opening = .awaited(continuation)
        }
        if let failure { throw failure }
    }

    private func opened(_ failure: HTTP2Error?) {
        switch opening {
        case .pending: opening = .done(failure)
        case .awaited(let continuation):
            opening = .done(failure)
            continuation.resume(returning: failure)
        case .done: break
        }
    }

    private func closed(_ error: HTTP2Error?) {
        opened(error ?? .cannotConnect("closed"))
        connection = nil
        // None of these was written.
        for entry in waiting[firstWaiting...] { finish(entry.number, .failure(.notProcessed)) }
        waiting.removeAll()
        firstWaiting = 0
    }

    // MARK: - Requests

    private func submitWaiting() {
        guard let connection else { return }
        if connection.isDraining {
            for entry in waiting[firstWaiting...] { finish(entry.number, .failure(.notProcessed)) }
            firstWaiting = waiting.count
        }
        while firstWaiting < waiting.count, connection.canSubmit(bodyBytes: 0) {
            let entry = waiting[firstWaiting]
            firstWaiting += 1
            guard answers[entry.number] != nil else { continue }
            do throws(HTTP2Error) {
                let slot = try connection.submit(
                    entry.request,
                    HTTP2FieldValues(capacity: 0),
                    body: entry.body,
                    deadline: entry.deadline
                )
                while requestNumbers.count <= slot { requestNumbers.append(nil) }
                requestNumbers[slot] = entry.number
            } catch {
                finish(entry.number, .failure(error))
            }
        }
        if firstWaiting == waiting.count {
            waiting.removeAll(keepingCapacity: true)
            firstWaiting = 0
        }
    }

    private func ended(slot: Int, _ end: HTTP2StreamEnd, _ response: HTTP2ResponseRecord) {
        guard let number = requestNumbers[slot] else { return }
        requestNumbers[slot] = nil
        let answer: Answer =
            switch end {
            case .answered where response.isCutShort: .failure(.responseTooLarge(limit: bodyLimit))
            case .answered:
                .success(HTTPResponse(status: response.status, fields: response.fields, body: response.body))
            case .notProcessed, .notSent: .failure(.notProcessed)
            case .reset(let code): .failure(.streamReset(code: code))
            case .malformed(let violation): .failure(.malformedResponse(violation.description))
            case .lost: .failure(.connectionLost("closed while the request was under way"))
            case .deadlinePassed(let isWhole): .failure(.deadlinePassed(written: isWhole))
            }
        finish(number, answer)
    }

    private func finish(_ number: Int, _ answer: Answer) {
        answers.removeValue(forKey: number)?.resume(returning: answer)
    }

    /// The connection itself watches the deadline of what it was given.
    private func expireWaiting(_ number: Int) {
        guard waiting[firstWaiting...].contains(where: { $0.number == number }) else { return }
        finish(number, .failure(.deadlinePassed(written: false)))
    }

    private func cancel(_ number: Int) {
        if let slot = requestNumbers.firstIndex(of: number) {
            requestNumbers[slot] = nil
            connection?.cancel(slot)
        }
        finish(number, .failure(.deadlinePassed(written: true)))
    }

    private func template(of request: HTTPRequest) -> HTTP2RequestTemplate {
        let pseudo = [
            (":method", request.method),
            (":scheme", request.scheme.isEmpty ? scheme : request.scheme),
            (":authority", request.authority.isEmpty ? authority : request.authority),
            (":path", request.target),
        ]
        return HTTP2RequestTemplate(constant: pseudo + request.fields.pairs, nameOnly: varyingFields)
    }

    isolated deinit { connection?.close() }
}
