internal import HTTP2

/// A request's head, read line by line: the request line, then one field a call, then ``finish()``.
///
/// Refuses whatever two readers could take for different requests (RFC 9112, 11.2), rather than repair it.
struct HTTP1Head {
    /// How the end of the body is known.
    enum Framing: Equatable {
        case length(Int)
        case chunked
    }

    private(set) var method = ""
    private(set) var target = ""
    private(set) var authority = ""
    private(set) var fields = HTTPFields()
    private(set) var framing = Framing.length(0)
    private(set) var keepsAlive = true
    private(set) var expectsContinue = false
    private(set) var isVersion10 = false

    /// Longer than any method that is registered.
    private static let longestMethod = 32

    /// Reads `method SP target SP HTTP/1.1`. One space between the parts, none elsewhere.
    init(requestLine line: ArraySlice<UInt8>, limits: HTTPLimits) throws(HTTPRefusal) {
        let parts = line.split(separator: HTTP1Syntax.space, maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count == 3, !parts[0].isEmpty, parts[0].allSatisfy(HTTP1Syntax.isToken) else {
            throw .badRequest("not a request line of HTTP/1.1")
        }
        guard parts[0].count <= Self.longestMethod else { throw HTTPRefusal(501, "unknown method") }
        guard parts[1].count <= limits.maxTargetBytes else { throw .targetTooLong }
        guard parts[1].allSatisfy(HTTP1Syntax.isTarget) else { throw .badRequest("a byte that no target may hold") }
        try readVersion(parts[2])
        method = String(decoding: parts[0], as: UTF8.self)
        try readTarget(String(decoding: parts[1], as: UTF8.self))
    }

    private mutating func readVersion(_ bytes: ArraySlice<UInt8>) throws(HTTPRefusal) {
        let version = Array(bytes)
        let isVersion =
            version.count == 8 && version.starts(with: "HTTP/".utf8) && (0x30...0x39).contains(version[5])
            && version[6] == 0x2E && (0x30...0x39).contains(version[7])
        guard isVersion else { throw .badRequest("not a request line of HTTP/1.1") }
        switch (version[5], version[7]) {
        case (0x31, 0x31): break
        case (0x31, 0x30):
            isVersion10 = true
            keepsAlive = false
        default: throw HTTPRefusal(505, "HTTP/1.1 and HTTP/2 are spoken here")
        }
    }

    /// Origin form, `OPTIONS *`, or the absolute form, whose authority overrules `Host` (RFC 9112, 3.2).
    private mutating func readTarget(_ text: String) throws(HTTPRefusal) {
        guard method != "CONNECT" else { throw HTTPRefusal(501, "this server is no proxy") }
        if text.hasPrefix("/") || (text == "*" && method == "OPTIONS") {
            target = text
            return
        }
        guard let end = text.firstRange(of: "://"),
            HTTP1Syntax.isEqual(text[..<end.lowerBound], ignoringCaseOf: "http")
                || HTTP1Syntax.isEqual(text[..<end.lowerBound], ignoringCaseOf: "https")
        else { throw .badRequest("a target begins with a slash") }
        let rest = text[end.upperBound...]
        let pathStart = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
        guard pathStart > rest.startIndex, rest[..<pathStart].utf8.allSatisfy(HTTP1Syntax.isAuthority) else {
            throw .badRequest("no host in the target")
        }
        authority = String(rest[..<pathStart])
        target = rest[pathStart...].hasPrefix("/") ? String(rest[pathStart...]) : "/" + rest[pathStart...]
    }

    mutating func addField(line: ArraySlice<UInt8>, limits: HTTPLimits) throws(HTTPRefusal) {
        guard fields.count < limits.maxHeaderFields else { throw .headTooLarge }
        let (name, value) = try Self.parseField(line)
        fields.append(name, value)
    }

    /// Reads `name: value`. Folded lines and white space before the colon are refused (RFC 9112, 5).
    static func parseField(_ line: ArraySlice<UInt8>) throws(HTTPRefusal) -> (name: String, value: String) {
        guard line.first != HTTP1Syntax.space, line.first != HTTP1Syntax.tab else {
            throw .badRequest("a folded header line")
        }
        guard let colon = line.firstIndex(of: HTTP1Syntax.colon) else { throw .badRequest("a header without a colon") }
        let name = line[..<colon]
        guard !name.isEmpty, name.allSatisfy(HTTP1Syntax.isToken) else { throw .badRequest("not a header name") }
        let value = HTTP1Syntax.trimmed(line[(colon + 1)...])
        guard value.allSatisfy(HTTP1Syntax.isValue), let text = String(validating: value, as: UTF8.self) else {
            throw .badRequest("a byte that no header value may hold")
        }
        return (String(decoding: name, as: UTF8.self), text)
    }

    /// Settles what the fields say together: host, framing, persistence, expectation.
    mutating func finish() throws(HTTPRefusal) {
        try settleHost()
        try settleFraming()
        let connection = HTTP1Syntax.listMembers(fields.all("connection"))
        if connection.contains(where: { HTTP1Syntax.isEqual($0, ignoringCaseOf: "close") }) { keepsAlive = false }
        let expectations = fields.all("expect")
        if !expectations.isEmpty, !isVersion10 {
            guard expectations.count == 1, HTTP1Syntax.isEqual(expectations[0], ignoringCaseOf: "100-continue") else {
                throw HTTPRefusal(417, "only 100-continue can be expected")
            }
            expectsContinue = framing != .length(0)
        }
    }

    private mutating func settleHost() throws(HTTPRefusal) {
        let hosts = fields.all("host")
        guard hosts.count <= 1 else { throw .badRequest("more than one Host") }
        guard let host = hosts.first else {
            guard isVersion10 else { throw .badRequest("no Host") }
            return
        }
        guard host.utf8.allSatisfy(HTTP1Syntax.isAuthority) else { throw .badRequest("not a Host") }
        if authority.isEmpty { authority = host }
    }

    /// RFC 9112, 6.3, without its leniencies: one length, or `chunked` alone, never both.
    private mutating func settleFraming() throws(HTTPRefusal) {
        let lengths = fields.all("content-length")
        let codings = fields.all("transfer-encoding")
        guard lengths.isEmpty || codings.isEmpty else { throw .badRequest("two ways to tell the body's length") }
        guard lengths.count <= 1, codings.count <= 1 else { throw .badRequest("the body's length is given twice") }
        if let coding = codings.first {
            guard !isVersion10 else { throw .badRequest("HTTP/1.0 has no transfer codings") }
            let members = HTTP1Syntax.listMembers(codings)
            let chunked = members.filter { HTTP1Syntax.isEqual($0, ignoringCaseOf: "chunked") }
            guard chunked.count <= 1 else { throw .badRequest("chunked twice") }
            guard HTTP1Syntax.isEqual(coding, ignoringCaseOf: "chunked") else {
                throw HTTPRefusal(501, "no transfer coding but chunked is spoken here")
            }
            framing = .chunked
        } else if let length = lengths.first {
            guard let bytes = HTTP1Syntax.decimal(length) else { throw .badRequest("Content-Length is no number") }
            framing = .length(bytes)
        }
    }
}
