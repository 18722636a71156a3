/// A request with its whole body, for HTTP/2 and HTTP/1.1 alike.
package struct HTTPRequest: Sendable {
    package var method: String
    package var scheme: String
    /// Host and port as the client wrote them: `:authority`, or HTTP/1.1's `Host`.
    package var authority: String
    /// Path and query as on the wire, percent-encoded: `/v1/matches/a%2Fb?limit=5`.
    package var target: String
    package var fields: HTTPFields
    package var body: [UInt8]

    package init(
        method: String,
        scheme: String = "https",
        authority: String,
        target: String,
        fields: HTTPFields = [:],
        body: [UInt8] = []
    ) {
        self.method = method
        self.scheme = scheme
        self.authority = authority
        self.target = target
        self.fields = fields
        self.body = body
    }
}

/// A response with its whole body.
package struct HTTPResponse: Sendable {
    package var status: Int
    package var fields: HTTPFields
    package var body: [UInt8]

    package init(status: Int, fields: HTTPFields = [:], body: [UInt8] = []) {
        self.status = status
        self.fields = fields
        self.body = body
    }
}
