package import APNs
package import Core
internal import Crypto
package import HTTP2
package import HTTPServer
package import Log
package import Store

/// The HTTP API: requests in, answers out, everything in between strictly checked.
///
/// Handlers throw a `Problem` for what the caller did wrong and a `StoreError` for what PostgreSQL did; both become
/// RFC 9457 answers here and nowhere else.
package struct API: Sendable {
    let store: Store
    /// Called after a commit that gave the dispatcher something to do; cheap.
    let wake: @Sendable () -> Void
    /// How long one request may wait for PostgreSQL.
    let patience: Duration
    let now: @Sendable () -> Timestamp
    let contracts = ContractCache()
    let guesses = KeyGuesses()
    let desk: RegistrationDesk
    /// The way to APNs' channel management; nil: this process has none.
    let channels: ChannelManagement?
    let log: Logger
    let events = EventCounts()

    package init(
        store: Store,
        patience: Duration = .seconds(5),
        channels: ChannelManagement? = nil,
        log: Logger = .silent,
        wake: @escaping @Sendable () -> Void
    ) {
        self.init(store: store, patience: patience, channels: channels, log: log, now: WallClock.now, wake: wake)
    }

    /// With a clock of the test's own.
    package init(
        store: Store,
        patience: Duration,
        channels: ChannelManagement? = nil,
        log: Logger = .silent,
        now: @escaping @Sendable () -> Timestamp,
        wake: @escaping @Sendable () -> Void
    ) {
        self.store = store
        desk = RegistrationDesk(store: store)
        self.patience = patience
        self.channels = channels
        self.log = log
        self.now = now
        self.wake = wake
    }

    /// For ``HTTPServer``.
    package var handler: HTTPHandler { { await answer($0) } }

    /// For what ``HTTPServer`` refuses before any handler sees it.
    package func refusal(_ refusal: HTTPRefusal) -> HTTPResponse {
        let id = RequestID.make()
        if refusal.status >= 500 { note(refusal, id) }
        var response = HTTPResponse.problem(Problem(refusal))
        response.fields.set("x-request-id", id)
        return response
    }

    package func answer(_ request: HTTPRequest) async -> HTTPResponse {
        let id = RequestID.of(request)
        var response: HTTPResponse
        var asked: Route?
        do {
            let target = RequestTarget(request.target)
            let (route, parameters) = try Self.route(request.method, target)
            asked = route
            let call = try await call(request, id, target, route, parameters)
            switch route.answer {
            case .whole(let handler):
                response = try await handler(self, call)
            case .lines(let handler):
                let exchange = BufferedExchange(request.body)
                try await handler(self, call, exchange)
                response = .lines(exchange.answer)
            }
        } catch {
            response = Self.response(to: error)
            note(error, answeredBy: response.status, id, asked)
        }
        response.fields.set("x-request-id", id)
        return response
    }

    /// The answer to whatever a handler threw.
    static func response(to error: any Error) -> HTTPResponse {
        switch error {
        case let problem as Problem:
            var response = HTTPResponse.problem(problem)
            // RFC 9110, 15.5.16.
            if problem.code == .unsupportedEncoding { response.fields.set("accept-encoding", "identity") }
            return response
        case let error as StoreError: return .problem(Problem(error))
        case let refused as MethodRefusal:
            var response = HTTPResponse.problem(refused.problem)
            response.fields.set("allow", refused.allowed.joined(separator: ", "))
            return response
        default: return .problem(Problem(.internalError, "an unexpected error: \(type(of: error))"))
        }
    }

    /// Finds what answers, or throws `not_found` or a ``MethodRefusal``.
    static func route(
        _ method: String,
        _ target: RequestTarget
    ) throws -> (route: Route, parameters: [String: Substring]) {
        let wanted = method == "HEAD" ? "GET" : method
        var allowed: [String] = []
        for route in routes {
            guard let parameters = route.match(target.segments) else { continue }
            if route.method == wanted { return (route, parameters) }
            allowed += route.method == "GET" ? ["GET", "HEAD"] : [route.method]
        }
        guard allowed.isEmpty else { throw MethodRefusal(method: method, allowed: allowed) }
        throw Problem(.notFound, "there is nothing at this path")
    }

    /// Lets the request pass as a call, if its key may make it.
    func call(
        _ request: HTTPRequest,
        _ requestID: String,
        _ target: RequestTarget,
        _ route: Route,
        _ parameters: [String: Substring]
    ) async throws -> Call {
        // No body is unpacked: a few bytes could become gigabytes.
        if let coding = request.fields["content-encoding"], !coding.isEmpty, coding.lowercased() != "identity" {
            throw Problem(
                .unsupportedEncoding,
                "the body has the content-encoding \(coding.prefix(40)), and none is taken",
                hint: "Send the body as it is, without Content-Encoding."
            )
        }
        let deadline = ContinuousClock.now + patience
        async let ahead = readAhead(request, route, parameters, by: deadline)
        let caller = try await authorize(request, route.access, parameters, by: deadline)
        return Call(
            request: request,
            requestID: requestID,
            target: target,
            parameters: parameters,
            role: caller.role,
            tenantID: caller.tenant,
            deadline: deadline,
            now: now(),
            ahead: await ahead
        )
    }
}

/// The path is known, the method is not.
struct MethodRefusal: Error {
    let method: String
    let allowed: [String]

    var problem: Problem {
        Problem(.methodNotAllowed, "\(method) is not allowed here; \(allowed.joined(separator: ", ")) is")
    }
}

/// `X-Request-Id`: the caller's own if it is a harmless one, else a new one.
enum RequestID {
    static func of(_ request: HTTPRequest) -> String {
        guard let given = request.fields["x-request-id"], (1...128).contains(given.utf8.count),
            given.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F })
        else { return make() }
        return given
    }

    static func make() -> String { Hex.encode(SecureRandom.bytes(8)) }
}

extension Problem {
    init(_ error: StoreError) {
        switch error {
        case .unavailable:
            self.init(
                .unavailable,
                "the database does not answer; nothing was accepted",
                hint: "Send the same request again.",
                retryAfterSeconds: 1
            )
        case .conflict:
            self.init(.conflict, "somebody else changed the same thing at this moment", hint: "Send the request again.")
        case .configuration(let why):
            self.init(.internalError, why)
        case .failed:
            self.init(.internalError, "a database statement failed")
        }
    }
}
