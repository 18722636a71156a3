package import Core
package import EventLoop
import FoundationEssentials
package import HTTP2

/// Calls an HTTP API: adds the key, waits when told to, and turns an answer that says no into a ``Failure``.
package struct APIClient: Sendable {
    package let connection: ServiceConnection
    /// The API key; none for the simulator.
    package var key: String?
    /// For operator keys: whose tenant routes are meant.
    package var tenant: String?
    /// How long a call is repeated while the service is away or asks for patience.
    package var patience: Duration = .zero

    /// A client; those without a loop of their own share one.
    ///
    /// - Parameters:
    ///   - url: Of the service, `http://…` or `https://…`.
    ///   - key: The API key; none for the simulator.
    ///   - tenant: For operator keys: whose tenant routes are meant.
    ///   - caFile: PEM of the roots to trust instead of the system's.
    ///   - patience: How long a call is repeated while the service is away or asks for patience.
    ///   - loop: Where its connection lives.
    /// - Returns: The client, not connected yet.
    /// - Throws: ``Failure`` for what is no URL, and for a CA file that cannot be used.
    package static func connecting(
        to url: String,
        key: String?,
        tenant: String? = nil,
        caFile: String? = nil,
        patience: Duration = .zero,
        on loop: EventLoop? = nil
    ) throws(Failure) -> APIClient {
        let home: EventLoop
        do throws(EventLoopError) {
            home = if let loop { loop } else { try sharedLoop.get() }
        } catch {
            throw Failure(.failed, "no event loop: \(error)")
        }
        let connection = try ServiceConnection(url: try ServiceURL(url), caFile: caFile, loop: home)
        return APIClient(connection: connection, key: key, tenant: tenant, patience: patience)
    }

    /// Lives as long as the process.
    private static let sharedLoop = Result { () throws(EventLoopError) in try EventLoop(name: "client") }

    /// One answer below 400.
    package struct Answer: Sendable {
        package let status: Int
        package let body: [UInt8]
        /// The service had taken the same before, and did nothing more.
        package let isReplayed: Bool

        package init(status: Int, body: [UInt8], isReplayed: Bool = false) {
            self.status = status
            self.body = body
            self.isReplayed = isReplayed
        }

        package var text: String { String(decoding: body, as: UTF8.self) }

        /// The body as `type`; an answer of another shape is a fault of the service.
        package func decode<Body: Decodable>(_ type: Body.Type = Body.self) throws(Failure) -> Body {
            do {
                return try JSONDecoder().decode(type, from: Data(body))
            } catch {
                throw Failure(.failed, "the service answered something unexpected: \(text.prefix(200))")
            }
        }
    }

    /// Sends one request, again while that is safe and ``patience`` lasts.
    ///
    /// Throws a ``Failure``: `notAllowed` for 401 and 403, `notFound` for 404, `failed` for the rest.
    package func send(
        _ method: String,
        _ path: String,
        _ body: JSONOutput? = nil,
        timeout: Duration = .seconds(30)
    ) async throws(Failure) -> Answer {
        try await send(request(method, path, body?.bytes ?? [], type: "application/json"), timeout: timeout)
    }

    /// The same, with one JSON value a line.
    package func send(
        _ method: String,
        _ path: String,
        lines: [JSONOutput],
        timeout: Duration = .seconds(30)
    ) async throws(Failure) -> Answer {
        let body = lines.map { $0.bytes + [UInt8(ascii: "\n")] }.joined()
        return try await send(request(method, path, Array(body), type: "application/x-ndjson"), timeout: timeout)
    }

    /// The same, with a body that is JSON already.
    package func send(
        _ method: String,
        _ path: String,
        bytes: [UInt8],
        type: String = "application/json",
        timeout: Duration = .seconds(30)
    ) async throws(Failure) -> Answer {
        try await send(request(method, path, bytes, type: type), timeout: timeout)
    }

    private func send(_ request: HTTPRequest, timeout: Duration) async throws(Failure) -> Answer {
        let end = ContinuousClock.now + patience
        var pause = Duration.milliseconds(50)
        while true {
            let response: HTTPResponse
            do {
                response = try await connection.send(request, by: .now + timeout)
            } catch {
                guard ContinuousClock.now + pause < end, !Task.isCancelled else {
                    throw await unreachable(error)
                }
                await Self.sleep(pause)
                pause = min(pause * 2, .seconds(1))
                continue
            }
            guard response.status >= 400 else {
                let isReplayed = response.fields["idempotent-replayed"] == "true"
                return Answer(status: response.status, body: response.body, isReplayed: isReplayed)
            }
            let asked = Duration.seconds(response.fields["retry-after"].flatMap { Int($0) } ?? 1)
            guard [429, 503].contains(response.status), ContinuousClock.now + asked < end, !Task.isCancelled else {
                throw Self.failure(response)
            }
            await Self.sleep(asked)
        }
    }

    /// Closes the connection.
    package func close() async { await connection.close() }

    private func request(_ method: String, _ path: String, _ body: [UInt8], type: String) -> HTTPRequest {
        var fields: HTTPFields = ["accept": "application/json"]
        if let key { fields.append("authorization", "Bearer \(key)") }
        if let tenant { fields.append("touchline-tenant", tenant) }
        if !body.isEmpty { fields.append("content-type", type) }
        return HTTPRequest(
            method: method,
            scheme: connection.url.scheme,
            authority: connection.url.authority,
            target: path,
            fields: fields,
            body: body
        )
    }

    private func unreachable(_ error: any Error) async -> Failure {
        Failure(
            .failed,
            "\(connection.url.text) does not answer: \(error)",
            hint: "Is `touchline serve` running there? TOUCHLINE_URL or --url says where to look."
        )
    }

    private static func sleep(_ duration: Duration) async { try? await Task.sleep(for: duration) }

    private struct ProblemBody: Decodable {
        let code: String?
        let title: String?
        let detail: String?
        let field: String?
        let hint: String?
    }

    /// What an answer of 400 or above means for a person.
    package static func failure(_ response: HTTPResponse) -> Failure {
        let problem = try? JSONDecoder().decode(ProblemBody.self, from: Data(response.body))
        let kind: Failure.Kind =
            switch response.status {
            case 401, 403: .notAllowed
            case 404: .notFound
            default: .failed
            }
        var message = problem?.detail ?? problem?.title ?? "the service answered \(response.status)"
        if let field = problem?.field { message += " (field \(field))" }
        if let code = problem?.code { message += " [\(code)]" }
        return Failure(kind, message, hint: problem?.hint, code: problem?.code)
    }
}
