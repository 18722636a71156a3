/// An answer other than success: a status, and the reason string of the JSON body.
struct Rejection: Error, Equatable, Sendable {
    let status: Int
    let reason: String
    /// With 410: since when the token is dead, in UNIX milliseconds.
    var timestampMilliseconds: Int64?
    /// Undocumented, so only scripted answers carry it: the `retry-after` header.
    var retryAfter: String?
    /// The same as a date, so many seconds from now.
    var retryAfterDate: Int?
    /// The body is padded to this size.
    var bodyBytes = 0
    /// A field of this size comes along.
    var headerBytes = 0

    init(_ status: Int, _ reason: String, timestampMilliseconds: Int64? = nil, retryAfter: String? = nil) {
        self.status = status
        self.reason = reason
        self.timestampMilliseconds = timestampMilliseconds
        self.retryAfter = retryAfter
    }

    /// Whether the service answers by allowing one stream at a time; a dead token (410) is not held against the sender.
    var lowersStreamLimit: Bool { (400..<500).contains(status) && status != 410 }

    /// A 410 without a timestamp is dead since now, in UNIX seconds.
    func dated(now: Int64) -> Rejection {
        guard status == 410, timestampMilliseconds == nil else { return self }
        var dated = self
        dated.timestampMilliseconds = now * 1000
        return dated
    }

    /// `{"reason":"…"}`, with `timestamp` where there is one. Without a reason or a size the body is empty.
    var body: [UInt8] {
        guard !reason.isEmpty || bodyBytes > 0 else { return [] }
        var json = JSONWriter()
        json.object {
            $0.member("reason", reason)
            if let timestampMilliseconds { $0.member("timestamp", timestampMilliseconds) }
        }
        let padding = max(0, bodyBytes - json.bytes.count)
        return json.bytes + [UInt8](repeating: UInt8(ascii: " "), count: padding)
    }
}
