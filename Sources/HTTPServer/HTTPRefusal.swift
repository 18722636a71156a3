/// Why a request was refused before any handler saw it.
package struct HTTPRefusal: Error, Equatable, Sendable {
    package let status: Int
    /// For the person who wrote the client. Never holds a byte of the request.
    package let why: String

    package init(_ status: Int, _ why: String) {
        self.status = status
        self.why = why
    }

    static func badRequest(_ why: String) -> HTTPRefusal { HTTPRefusal(400, why) }
    static let bodyTooLarge = HTTPRefusal(413, "the body is larger than this server takes")
    static let targetTooLong = HTTPRefusal(414, "the request target is too long")
    static let headTooLarge = HTTPRefusal(431, "the header section is too large")
}
