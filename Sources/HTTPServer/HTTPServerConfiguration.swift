package import EventLoop
package import HTTP2

/// Answers a request. Runs in a task of its own, which is cancelled when the client goes away or the server is done.
///
/// `HEAD` is answered like `GET`: the server leaves the body out.
package typealias HTTPHandler = @Sendable (HTTPRequest) async -> HTTPResponse

/// Where a server listens, and what it puts up with.
package struct HTTPServerConfiguration: Sendable {
    /// Port 0: any that is free; see ``HTTPServer/port``.
    package var address: SocketAddress
    /// Offers HTTP/2 and HTTP/1.1 if it was made for `["h2", "http/1.1"]`. Without TLS, a connection that begins with
    /// HTTP/2's preface is HTTP/2 ("prior knowledge"), and any other HTTP/1.1.
    package var tls: TLSContext?
    package var limits: HTTPLimits
    /// Handlers of small requests run on their connection's loop wherever they are not on another actor: no thread has to be
    /// woken for what takes microseconds between two waits. The loops must then outlive every handler.
    package var runsHandlersOnLoops = false
    /// Whether answers carry `date`.
    package var sendsDate = true
    /// The answer to a request that no handler sees. By default an RFC 9457 problem.
    package var refuse: @Sendable (HTTPRefusal) -> HTTPResponse = { $0.problem }

    package init(address: SocketAddress, tls: TLSContext? = nil, limits: HTTPLimits = HTTPLimits()) {
        self.address = address
        self.tls = tls
        self.limits = limits
    }
}

extension HTTPRefusal {
    /// Stable, for programs.
    package var code: String {
        switch status {
        case 408: "request_timeout"
        case 413: "body_too_large"
        default: "bad_request"
        }
    }

    /// RFC 9457. Nothing in it needs escaping.
    package var problem: HTTPResponse {
        let title = HTTP1ResponseSerializer.reason(status)
        var text =
            #"{"type":"about:blank","title":"\#(title)","status":\#(status),"code":"\#(code)","detail":"\#(why)""#
        if let size, let limit { text += #","size":\#(size),"limit":\#(limit)"# }
        text += "}"
        return HTTPResponse(
            status: status,
            fields: ["content-type": "application/problem+json"],
            body: Array(text.utf8)
        )
    }
}
