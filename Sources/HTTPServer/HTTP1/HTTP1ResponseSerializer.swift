package import HTTP2

/// Writes responses as HTTP/1.1 wants them. Every whole response has its length; a streamed one is chunked.
package enum HTTP1ResponseSerializer {
    package static let continueLine = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)

    /// How the end of a response's body is told.
    package enum Framing {
        /// The body is `response.body`.
        case whole
        /// `response.body` is empty; chunks follow, or bytes until the connection ends.
        case chunked
        case untilClose
    }

    /// Appends `response` to `output`.
    ///
    /// - Parameters:
    ///   - response: What the handler answered; its framing fields are left out.
    ///   - isHead: The request was `HEAD`: the length is told, the body is not sent.
    ///   - closes: This response is the connection's last.
    ///   - framing: Whether the body is there already.
    ///   - date: The value of `date`, unless the response brings its own.
    ///   - output: What waits to be written.
    package static func append(
        _ response: HTTPResponse,
        isHead: Bool,
        closes: Bool,
        framing: Framing = .whole,
        date: String?,
        to output: inout [UInt8]
    ) {
        output.reserveCapacity(output.count + response.body.count + 512)
        output.append(contentsOf: "HTTP/1.1 \(response.status) \(reason(response.status))\r\n".utf8)
        for (name, value) in response.fields.pairs where !isFraming(name) {
            appendField(name, value, to: &output)
        }
        if let date, response.fields["date"] == nil { appendField("date", date, to: &output) }
        // RFC 9110, 8.6: no length with 1xx and 204; with 304 it would be that of another answer's body.
        let hasNoBody = response.status < 200 || response.status == 204 || response.status == 304
        switch framing {
        case .whole: if !hasNoBody { appendField("content-length", String(response.body.count), to: &output) }
        case .chunked: appendField("transfer-encoding", "chunked", to: &output)
        case .untilClose: break
        }
        if closes { appendField("connection", "close", to: &output) }
        output.append(contentsOf: [0x0D, 0x0A])
        if !hasNoBody, !isHead { output.append(contentsOf: response.body) }
    }

    package static let lastChunk = Array("0\r\n\r\n".utf8)

    /// One chunk. An empty one would end the body: not given.
    package static func chunk(_ bytes: [UInt8]) -> [UInt8] {
        precondition(!bytes.isEmpty, "an empty chunk")
        var chunk: [UInt8] = []
        chunk.reserveCapacity(bytes.count + 20)
        chunk += String(bytes.count, radix: 16).utf8
        chunk += [0x0D, 0x0A]
        chunk += bytes
        chunk += [0x0D, 0x0A]
        return chunk
    }

    /// Fields that this serializer alone decides about.
    private static func isFraming(_ name: String) -> Bool {
        switch name {
        case "content-length", "transfer-encoding", "connection", "keep-alive", "upgrade", "trailer": true
        default: false
        }
    }

    /// A control byte in a value becomes a space: no handler can be talked into writing a header or answer of another.
    private static func appendField(_ name: String, _ value: String, to output: inout [UInt8]) {
        precondition(name.utf8.allSatisfy(HTTP1Syntax.isToken), "header name \(name)")
        output.append(contentsOf: name.utf8)
        output.append(contentsOf: ": ".utf8)
        for byte in value.utf8 { output.append(HTTP1Syntax.isValue(byte) ? byte : HTTP1Syntax.space) }
        output.append(contentsOf: [0x0D, 0x0A])
    }

    static func reason(_ status: Int) -> String {
        switch status {
        case 200: "OK"
        case 201: "Created"
        case 202: "Accepted"
        case 204: "No Content"
        case 304: "Not Modified"
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 408: "Request Timeout"
        case 409: "Conflict"
        case 410: "Gone"
        case 413: "Content Too Large"
        case 414: "URI Too Long"
        case 415: "Unsupported Media Type"
        case 417: "Expectation Failed"
        case 422: "Unprocessable Content"
        case 429: "Too Many Requests"
        case 431: "Request Header Fields Too Large"
        case 500: "Internal Server Error"
        case 501: "Not Implemented"
        case 503: "Service Unavailable"
        case 505: "HTTP Version Not Supported"
        default: "Status"
        }
    }
}
