internal import Core
internal import HTTP2
internal import Store

/// A body that is read, and an answer that is written, piece by piece.
protocol LineExchange: AnyObject {
    /// The next piece; nil at the end.
    func read() async throws -> [UInt8]?
    /// Begins the answer with the first call.
    func write(_ bytes: [UInt8]) async throws
}

/// The exchange of a request that was read as a whole.
final class BufferedExchange: LineExchange {
    private var body: [UInt8]?
    private(set) var answer: [UInt8] = []

    init(_ body: [UInt8]) { self.body = body }

    func read() async throws -> [UInt8]? {
        defer { body = nil }
        return body
    }

    func write(_ bytes: [UInt8]) async throws { answer += bytes }
}

/// Reads lines off an exchange in batches; bounds what a request holds at once, however long it is.
struct LineReader {
    private let exchange: any LineExchange
    private var splitter = LineSplitter()
    private var waiting: ArraySlice<LineSplitter.Line> = []
    private var isAtEnd = false
    private let policy: Policy

    enum Policy: Sendable {
        /// Whatever came with a piece: answers follow at once.
        case eager
        /// As many as a batch may have, so that lines that belong together are seen together.
        case full
    }

    /// The most lines of a batch.
    static let batch = 1_000

    init(_ exchange: any LineExchange, _ policy: Policy) {
        self.exchange = exchange
        self.policy = policy
    }

    /// The next lines; empty at the end.
    mutating func next() async throws -> [LineSplitter.Line] {
        while !isAtEnd && waiting.count < (policy == .full ? Self.batch : 1) {
            if let piece = try await exchange.read() {
                waiting += splitter.append(piece)
            } else {
                isAtEnd = true
                if let last = splitter.finish() { waiting.append(last) }
            }
        }
        let batch = Array(waiting.prefix(Self.batch))
        waiting = waiting.dropFirst(batch.count)
        return batch
    }
}

extension LineSplitter.Line {
    func json() throws(Problem) -> JSONValue {
        switch self {
        case .bytes(let bytes): return try JSONScanner.decode(bytes)
        case .tooLong:
            throw Problem(.bodyTooLarge, "the line has more than \(LineSplitter.maxLineBytes) bytes")
        }
    }
}

extension Problem {
    /// The members of a refused line's answer.
    var lineMembers: [(String, JSONOutput)] {
        var members: [(String, JSONOutput)] = [
            ("status", "refused"), ("code", .string(code.rawValue)), ("detail", .string(detail)),
        ]
        if let field { members.append(("field", .string(field))) }
        return members
    }
}

extension JSONValue {
    /// A line's id for its answer, whatever else is wrong with it.
    func text(_ name: String) -> String? {
        if case .string(let text)? = member(name)?.content { text } else { nil }
    }
}
