package import HTTP2

/// Answers a request whose body, answer or both are too large to hold: both pass in pieces.
///
/// The answer ends when the handler returns. Its task is cancelled when the client goes away.
package typealias HTTPStreamHandler = @Sendable (HTTPExchange) async -> Void

/// A request that is streamed, and how long its body may be.
package struct HTTPStreamRoute: Sendable {
    package let maxBodyBytes: Int
    package let handler: HTTPStreamHandler

    package init(maxBodyBytes: Int, handler: @escaping HTTPStreamHandler) {
        self.maxBodyBytes = maxBodyBytes
        self.handler = handler
    }
}

/// Tells by a request's head whether it is streamed. Called on the loop: it looks at method and target, and no further.
package typealias HTTPStreamRouter = @Sendable (HTTPRequest) -> HTTPStreamRoute?

/// Why a streamed exchange cannot go on. The handler has nothing left to do then: it returns.
package enum HTTPStreamError: Error, Equatable, Sendable {
    /// Nobody is there to answer.
    case clientGone
    /// The body is too large, malformed or late. Where no answer has begun, the server gives one.
    case refused(HTTPRefusal)
}

/// One request and its answer, in pieces. For one task: reads do not overlap, nor do writes.
package final class HTTPExchange: Sendable {
    /// Without a body.
    package let request: HTTPRequest
    private let stream: any HTTPStream

    init(request: HTTPRequest, stream: any HTTPStream) {
        self.request = request
        self.stream = stream
    }

    /// The next piece of the body, never empty and at most 256 KB; `nil` at its end.
    ///
    /// What is not read yet holds the client back: at most a few pieces wait here.
    package func read() async throws(HTTPStreamError) -> [UInt8]? {
        let result = await withCheckedContinuation { stream.read($0) }
        return try result.get()
    }

    /// Gives the whole answer, whether the body was read or not.
    package func respond(_ response: HTTPResponse) async {
        await withCheckedContinuation { stream.respond(response, $0) }
    }

    /// Begins an answer whose body follows by ``write(_:)``.
    package func begin(_ status: Int, _ fields: HTTPFields = [:]) async throws(HTTPStreamError) {
        let response = HTTPResponse(status: status, fields: fields)
        try await withCheckedContinuation { stream.begin(response, $0) }.get()
    }

    /// Sends a piece of the answer's body, and waits while too much waits to be taken.
    ///
    /// Until the request was read to its end that is 16 MB, so that a client that sends everything before it reads
    /// anything is not waited for in vain; afterwards 256 KB.
    package func write(_ bytes: [UInt8]) async throws(HTTPStreamError) {
        guard !bytes.isEmpty else { return }
        try await withCheckedContinuation { stream.write(bytes, $0) }.get()
    }

    /// The handler has returned.
    func end() {
        stream.end()
    }

    static let mostAhead = 16 << 20
    static let mostWaiting = 256 << 10
}

/// The connection's side of an exchange. Each call may come from any thread, and resumes its continuation once.
protocol HTTPStream: Sendable {
    typealias Done = CheckedContinuation<Result<Void, HTTPStreamError>, Never>

    func read(_ continuation: CheckedContinuation<Result<[UInt8]?, HTTPStreamError>, Never>)
    func respond(_ response: HTTPResponse, _ continuation: CheckedContinuation<Void, Never>)
    func begin(_ response: HTTPResponse, _ continuation: Done)
    func write(_ bytes: [UInt8], _ continuation: Done)
    func end()
}

/// What an exchange's task waits for, on the connection's loop. Every continuation is resumed once: by the event, or by
/// the failure that ends the exchange.
struct HTTPStreamWaiters {
    private(set) var failure: HTTPStreamError?
    private var reader: CheckedContinuation<Result<[UInt8]?, HTTPStreamError>, Never>?
    private var writer: HTTPStream.Done?

    var isReading: Bool { reader != nil }
    var isWriting: Bool { writer != nil }

    mutating func wait(_ continuation: CheckedContinuation<Result<[UInt8]?, HTTPStreamError>, Never>) {
        if let failure { return continuation.resume(returning: .failure(failure)) }
        precondition(reader == nil, "two reads of one exchange at once")
        reader = continuation
    }

    mutating func wait(_ continuation: HTTPStream.Done) {
        if let failure { return continuation.resume(returning: .failure(failure)) }
        precondition(writer == nil, "two writes of one exchange at once")
        writer = continuation
    }

    mutating func read(_ bytes: [UInt8]?) {
        reader?.resume(returning: .success(bytes))
        reader = nil
    }

    mutating func written() {
        writer?.resume(returning: .success(()))
        writer = nil
    }

    /// Only the first failure counts.
    mutating func fail(_ error: HTTPStreamError) {
        failure = failure ?? error
        reader?.resume(returning: .failure(error))
        writer?.resume(returning: .failure(error))
        (reader, writer) = (nil, nil)
    }
}
