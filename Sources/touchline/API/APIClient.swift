internal import Core
import FoundationEssentials
internal import HTTP2

/// Calls an HTTP API: adds the key, waits when told to, and turns an answer that says no into a ``Failure``.
struct APIClient: Sendable {
    let connection: ServiceConnection
    /// The API key; none for the simulator.
    var key: String?
    /// For operator keys: whose tenant routes are meant.
    var tenant: String?
    /// How long a call is repeated while the service is away or asks for patience.
    var patience: Duration = .zero

    /// One answer below 400.
    struct Answer: Sendable {
        let status: Int
        let body: [UInt8]

        var text: String { String(decoding: body, as: UTF8.self) }

        /// The body as `type`; an answer of another shape is a fault of the service.
        func decode<Body: Decodable>(_ type: Body.Type = Body.self) throws(Failure) -> Body {
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
    func send(
        _ method: String,
        _ path: String,
        _ body: JSONOutput? = nil,
        timeout: Duration = .seconds(30)
    ) async throws(Failure) -> Answer {
        try await send(request(method, path, body?.bytes ?? [], type: "application/json"), timeout: timeout)
    }

    /// The same, with one JSON value a line.
    func send(
        _ method: String,
        _ path: String,
        lines: [JSONOutput],
        timeout: Duration = .seconds(30)
    ) async throws(Failure) -> Answer {
        let body = lines.map { $0.bytes + [UInt8(ascii: "\n")] }.joined()
        return try await send(request(method, path, Array(body), type: "application/x-ndjson"), timeout: timeout)
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
            guard response.status >= 400 else { return Answer(status: response.status, body: response.body) }
            let asked = Duration.seconds(response.fields["retry-after"].flatMap { Int($0) } ?? 1)
            guard [429, 503].contains(response.status), ContinuousClock.now + asked < end, !Task.isCancelled else {
                throw Self.failure(response)
            }
            await Self.sleep(asked)
        }
    }

    /// Closes the connection.
    func close() async { await connection.close() }

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
    static func failure(_ response: HTTPResponse) -> Failure {
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
