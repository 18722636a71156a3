/// Why a request was refused before any handler saw it.
package struct HTTPRefusal: Error, Equatable, Sendable {
    package let status: Int
    /// For the person who wrote the client. Never holds a byte of the request.
    package let why: String
    /// Of a body that is too large, in bytes: as the request says it, or as much as had come.
    package private(set) var size: Int?
    package private(set) var limit: Int?

    package init(_ status: Int, _ why: String) {
        self.status = status
        self.why = why
    }

    static func badRequest(_ why: String) -> HTTPRefusal { HTTPRefusal(400, why) }
    static func bodyTooLarge(size: Int, limit: Int) -> HTTPRefusal {
        var refusal = HTTPRefusal(413, "the body has \(size) bytes or more, \(limit) are the most")
        (refusal.size, refusal.limit) = (size, limit)
        return refusal
    }
    static let targetTooLong = HTTPRefusal(414, "the request target is too long")
    static let headTooLarge = HTTPRefusal(431, "the header section is too large")
}
