/// An answer other than success: a status, and the reason string of the JSON body.
struct Rejection: Error, Equatable, Sendable {
    let status: Int
    let reason: String
    /// With 410: since when the token is dead, in UNIX milliseconds.
    var timestampMilliseconds: Int64?
    /// Undocumented, so only scripted answers carry it: the `retry-after` header.
    var retryAfter: String?

    init(_ status: Int, _ reason: String, timestampMilliseconds: Int64? = nil, retryAfter: String? = nil) {
        self.status = status
        self.reason = reason
        self.timestampMilliseconds = timestampMilliseconds
        self.retryAfter = retryAfter
    }

    /// Whether the service answers by allowing one stream at a time; a dead token (410) is not held against the sender.
    var lowersStreamLimit: Bool { (400..<500).contains(status) && status != 410 }

    /// `{"reason":"…"}`, with `timestamp` where there is one. Without a reason the body is empty.
    var body: [UInt8] {
        guard !reason.isEmpty else { return [] }
        var json = JSONWriter()
        json.object {
            $0.member("reason", reason)
            if let timestampMilliseconds { $0.member("timestamp", timestampMilliseconds) }
        }
        return json.bytes
    }
}
