internal import Core
internal import HTTP2
internal import HTTPServer

extension HTTPResponse {
    static func json(_ status: Int, _ json: JSONOutput, _ fields: HTTPFields = [:]) -> HTTPResponse {
        var response = HTTPResponse(status: status, fields: fields, body: json.bytes)
        response.fields.set("content-type", "application/json")
        return response
    }

    static var noContent: HTTPResponse { HTTPResponse(status: 204) }

    /// RFC 9457.
    static func problem(_ problem: Problem) -> HTTPResponse {
        var shown = problem
        // Both may quote names that the caller made up, as long as a body.
        shown.detail = String(problem.detail.prefix(1_000))
        shown.field = problem.field.map { String($0.prefix(500)) }
        var response = HTTPResponse(status: problem.status, body: shown.json.bytes)
        response.fields.set("content-type", "application/problem+json")
        if let seconds = problem.retryAfterSeconds { response.fields.set("retry-after", String(seconds)) }
        if problem.code == .unauthenticated { response.fields.set("www-authenticate", "Bearer") }
        return response
    }

    /// Many JSON objects, one a line.
    static func lines(_ body: [UInt8]) -> HTTPResponse {
        HTTPResponse(status: 200, fields: ["content-type": "application/x-ndjson"], body: body)
    }
}

extension Problem {
    /// What a refusal of the HTTP server is called in the API's words.
    init(_ refusal: HTTPRefusal) {
        switch refusal.status {
        case 413: self.init(.bodyTooLarge, refusal.why)
        case 500: self.init(.internalError, refusal.why)
        default: self.init(.badRequest, refusal.why)
        }
        ownStatus = refusal.status
        if let size = refusal.size, let limit = refusal.limit { excess = SizeExcess(size: size, limit: limit) }
    }
}
