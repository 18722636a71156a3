internal import Core
internal import HTTP2
package import HTTPServer

extension API {
    /// For ``HTTPServer``: the calls that read and answer line by line.
    package var streaming: HTTPStreamRouter { { streamed($0) } }

    /// The longest body of a call that does not: ``Call/json()`` reads no more.
    package static let maxBodyBytes = Call.maxJSONBytes
    /// The longest body of lines.
    package static let maxStreamedBytes = 256 << 20

    private func streamed(_ head: HTTPRequest) -> HTTPStreamRoute? {
        let target = RequestTarget(head.target)
        guard let (route, parameters) = try? Self.route(head.method, target), case .lines(let handler) = route.answer
        else { return nil }
        return HTTPStreamRoute(maxBodyBytes: Self.maxStreamedBytes) { http in
            let id = RequestID.of(http.request)
            let exchange = StreamedExchange(http, requestID: id)
            do {
                let call = try await call(http.request, id, target, route, parameters)
                try await handler(self, call, exchange)
                await exchange.finish()
            } catch is HTTPStreamError {
                // The server has told the client, or there is none any more.
            } catch {
                let response = Self.response(to: error)
                note(error, answeredBy: response.status, id, route)
                await exchange.fail(response)
            }
        }
    }
}

/// A line exchange on a connection. The answer begins with its first piece: what goes wrong before has a status.
private final class StreamedExchange: LineExchange {
    private let http: HTTPExchange
    private let requestID: String
    private var hasBegun = false

    init(_ http: HTTPExchange, requestID: String) {
        self.http = http
        self.requestID = requestID
    }

    func read() async throws -> [UInt8]? { try await http.read() }

    func write(_ bytes: [UInt8]) async throws {
        if !hasBegun {
            hasBegun = true
            try await http.begin(200, ["content-type": "application/x-ndjson", "x-request-id": requestID])
        }
        try await http.write(bytes)
    }

    /// Ends an answer without any line.
    func finish() async {
        guard !hasBegun else { return }
        await respond(.lines([]))
    }

    /// Answers with a problem, unless lines went out before: then the answer just ends.
    func fail(_ response: HTTPResponse) async {
        guard !hasBegun else { return }
        await respond(response)
    }

    private func respond(_ response: HTTPResponse) async {
        var response = response
        response.fields.set("x-request-id", requestID)
        await http.respond(response)
    }
}
