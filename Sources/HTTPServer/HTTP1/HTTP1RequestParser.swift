package import HTTP2

/// Reads the requests of one HTTP/1.1 connection: bytes in by ``append(_:)``, events out by ``next()``.
///
/// A plain value without I/O or clock. However the bytes are cut into pieces, the events are the same. Pipelined
/// requests wait in the buffer until they are asked for; how much waits is the caller's to bound by ``bufferedBytes``.
/// After a refusal, or after a request that ends the connection, further bytes are dropped.
package struct HTTP1RequestParser: Sendable {
    package enum Event: Sendable {
        /// A head has come whose sender waits for `100 Continue` before the body.
        case continueExpected
        case request(HTTPRequest, keepsAlive: Bool)
        /// The head of a request whose body is asked for piece by piece: `bodyPart`s follow, then `bodyEnded`.
        case streamBegan(HTTP1StreamHead)
        case bodyPart([UInt8])
        case bodyEnded
        /// Answer with this status and close: where the next request would begin is not known.
        case refused(HTTPRefusal)
    }

    /// What the parser waits for, for the deadlines of a connection.
    package enum Phase: Equatable, Sendable {
        case idle
        case head
        case body
        /// No further event comes.
        case ended
    }

    private enum State {
        case requestLine
        case fields
        case body(left: Int)
        case chunkSize
        case chunkData(left: Int)
        case chunkEnd
        case trailers
        case ended
    }

    /// Says for a head whether its body is streamed, and how long it may be.
    package typealias StreamLimit = @Sendable (HTTPRequest) -> Int?

    private let limits: HTTPLimits
    private let scheme: String
    private let streamLimit: StreamLimit

    private var buffer: [UInt8] = []
    /// The first byte of `buffer` that is not used yet.
    private var start = 0
    /// No line feed stands before this index.
    private var scanned = 0
    private var state = State.requestLine
    private var sawEmptyLine = false
    private var head: HTTP1Head?
    private var body: [UInt8] = []
    private var isStreaming = false
    private var bodyLimit = 0
    private var bodyBytesLeft = 0
    private var headerBytesLeft = 0
    private var extensionBytesLeft = 0

    /// Method, two spaces, version and line end come on top of the longest target.
    private static let requestLineOverhead = 64
    /// A chunk's size line, extensions included; and all extensions of one body.
    private static let longestChunkLine = 256
    private static let mostExtensionBytes = 4096
    private static let longestPart = 64 << 10

    package init(limits: HTTPLimits, scheme: String, streamLimit: @escaping StreamLimit = { _ in nil }) {
        self.limits = limits
        self.scheme = scheme
        self.streamLimit = streamLimit
    }

    /// Bytes that no event has used yet.
    package var bufferedBytes: Int { buffer.count - start }

    package var phase: Phase {
        switch state {
        case .requestLine: bufferedBytes == 0 ? .idle : .head
        case .fields: .head
        case .body, .chunkSize, .chunkData, .chunkEnd, .trailers: .body
        case .ended: .ended
        }
    }

    package mutating func append(_ bytes: UnsafeRawBufferPointer) {
        if case .ended = state { return }
        if start == buffer.count {
            buffer.removeAll(keepingCapacity: buffer.capacity <= 64 << 10)
            (start, scanned) = (0, 0)
        } else if start > 16 << 10 {
            buffer.removeFirst(start)
            (start, scanned) = (0, max(0, scanned - start))
        }
        buffer.append(contentsOf: bytes)
    }

    /// The next event that the bytes so far tell, or `nil`: more bytes are needed.
    package mutating func next() -> Event? {
        do throws(HTTPRefusal) {
            return try step()
        } catch {
            end()
            return .refused(error)
        }
    }

    private mutating func step() throws(HTTPRefusal) -> Event? {
        while true {
            switch state {
            case .requestLine:
                guard try readRequestLine() else { return nil }
            case .fields:
                guard let line = try takeLine(atMost: headerBytesLeft, else: .headTooLarge) else { return nil }
                guard line.isEmpty else {
                    headerBytesLeft -= line.count
                    try head?.addField(line: buffer[line], limits: limits)
                    continue
                }
                if let event = try finishHead() { return event }
            case .body(let left):
                let taken = takeBody(atMost: left)
                state = .body(left: left - taken)
                if let part = takePart() { return part }
                guard taken == left else { return nil }
                return finishRequest()
            case .chunkSize:
                guard try readChunkSize() else { return nil }
            case .chunkData(let left):
                let taken = takeBody(atMost: left)
                state = taken == left ? .chunkEnd : .chunkData(left: left - taken)
                if let part = takePart() { return part }
                guard taken == left else { return nil }
            case .chunkEnd:
                let refusal = HTTPRefusal.badRequest("a chunk is longer than its size")
                guard let line = try takeLine(atMost: 0, else: refusal) else { return nil }
                precondition(line.isEmpty)
                state = .chunkSize
            case .trailers:
                guard let line = try takeLine(atMost: headerBytesLeft, else: .headTooLarge) else { return nil }
                guard line.isEmpty else {
                    // Checked and dropped: a trailer must not change what the head has said (RFC 9110, 6.5.1).
                    headerBytesLeft -= line.count
                    _ = try HTTP1Head.parseField(buffer[line])
                    continue
                }
                return finishRequest()
            case .ended:
                return nil
            }
        }
    }

    // MARK: Head

    private mutating func readRequestLine() throws(HTTPRefusal) -> Bool {
        // What cannot begin a request (a TLS hello, say) is refused at its first byte, not at a deadline.
        if start < buffer.count, buffer[start] != HTTP1Syntax.carriageReturn, !HTTP1Syntax.isToken(buffer[start]) {
            throw .badRequest("not a request line of HTTP/1.1")
        }
        let longest = limits.maxTargetBytes + Self.requestLineOverhead
        guard let line = try takeLine(atMost: longest, else: .targetTooLong) else { return false }
        if line.isEmpty {
            // One empty line before a request is let pass (RFC 9112, 2.2).
            guard !sawEmptyLine else { throw .badRequest("empty lines before a request") }
            sawEmptyLine = true
            return true
        }
        head = try HTTP1Head(requestLine: buffer[line], limits: limits)
        headerBytesLeft = limits.maxHeaderBytes
        state = .fields
        return true
    }

    private mutating func finishHead() throws(HTTPRefusal) -> Event? {
        guard var head else { preconditionFailure("no head") }
        try head.finish()
        self.head = head
        let limit = streamLimit(request(head, body: []))
        isStreaming = limit != nil
        bodyLimit = limit ?? limits.maxBodyBytes
        bodyBytesLeft = bodyLimit
        switch head.framing {
        case .length(let bytes):
            guard bytes <= bodyLimit else { throw .bodyTooLarge(size: bytes, limit: bodyLimit) }
            if !isStreaming { body.reserveCapacity(min(bytes, 64 << 10)) }
            state = .body(left: bytes)
        case .chunked:
            extensionBytesLeft = Self.mostExtensionBytes
            headerBytesLeft = limits.maxHeaderBytes
            state = .chunkSize
        }
        if isStreaming { return .streamBegan(HTTP1StreamHead(head, request: request(head, body: []))) }
        return head.expectsContinue ? .continueExpected : nil
    }

    private func request(_ head: HTTP1Head, body: [UInt8]) -> HTTPRequest {
        HTTPRequest(
            method: head.method,
            scheme: scheme,
            authority: head.authority,
            target: head.target,
            fields: head.fields,
            body: body
        )
    }

    // MARK: Body

    private mutating func readChunkSize() throws(HTTPRefusal) -> Bool {
        let refusal = HTTPRefusal.badRequest("a chunk's size line is too long")
        guard let range = try takeLine(atMost: Self.longestChunkLine, else: refusal) else { return false }
        let line = buffer[range]
        let sizeEnd = line.firstIndex(of: HTTP1Syntax.semicolon) ?? line.endIndex
        guard let size = HTTP1Syntax.hexadecimal(line[..<sizeEnd]), line[sizeEnd...].allSatisfy(HTTP1Syntax.isValue)
        else { throw .badRequest("not a chunk's size") }
        extensionBytesLeft -= line.endIndex - sizeEnd
        guard extensionBytesLeft >= 0 else { throw .badRequest("too many chunk extensions") }
        guard size <= bodyBytesLeft else {
            let known = bodyLimit - bodyBytesLeft
            throw .bodyTooLarge(size: size > .max - known ? .max : known + size, limit: bodyLimit)
        }
        bodyBytesLeft -= size
        state = size == 0 ? .trailers : .chunkData(left: size)
        return true
    }

    /// Moves bytes of the buffer to the body; returns how many.
    private mutating func takeBody(atMost most: Int) -> Int {
        let count = min(most, buffer.count - start, isStreaming ? Self.longestPart : .max)
        body.append(contentsOf: buffer[start..<(start + count)])
        start += count
        scanned = start
        return count
    }

    private mutating func finishRequest() -> Event {
        guard let head else { preconditionFailure("no head") }
        let event: Event =
            isStreaming ? .bodyEnded : .request(request(head, body: body), keepsAlive: head.keepsAlive)
        body = []
        self.head = nil
        sawEmptyLine = false
        state = .requestLine
        if !head.keepsAlive { end() }
        return event
    }

    /// What there is of a streamed body.
    private mutating func takePart() -> Event? {
        guard isStreaming, !body.isEmpty else { return nil }
        defer { body = [] }
        return .bodyPart(body)
    }

    private mutating func end() {
        state = .ended
        buffer = []
        body = []
        head = nil
        (start, scanned) = (0, 0)
    }

    // MARK: Lines

    /// Takes a line that ends in CR LF and returns where it stands in the buffer, the end not included.
    ///
    /// Too long is decided before anything else about the line, and by the same count of bytes whether its end has come
    /// or not: so the way the bytes were cut makes no difference.
    private mutating func takeLine(
        atMost limit: Int,
        else tooLong: HTTPRefusal
    ) throws(HTTPRefusal) -> Range<Int>? {
        let end = min(buffer.count, start + limit + 2)
        guard let lineFeed = buffer[max(scanned, start)..<end].firstIndex(of: HTTP1Syntax.lineFeed) else {
            guard end - start < limit + 2 else { throw tooLong }
            scanned = end
            return nil
        }
        guard lineFeed > start, buffer[lineFeed - 1] == HTTP1Syntax.carriageReturn else {
            throw .badRequest("a line feed without a carriage return")
        }
        let line = start..<(lineFeed - 1)
        start = lineFeed + 1
        scanned = start
        return line
    }
}

/// A request whose body is still to come, and what its connection must know of it.
package struct HTTP1StreamHead: Sendable {
    /// Without a body.
    package let request: HTTPRequest
    package let keepsAlive: Bool
    package let expectsContinue: Bool
    /// Whether the answer may be chunked: not to a client of HTTP/1.0.
    package let takesChunks: Bool

    init(_ head: HTTP1Head, request: HTTPRequest) {
        self.request = request
        keepsAlive = head.keepsAlive
        expectsContinue = head.expectsContinue
        takesChunks = !head.isVersion10
    }
}
