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
///
/// A batch is one transaction, and its events are put in order before they are taken: it ends at ``batch`` lines, at
/// ``batchBytes``, or with the body.
struct LineReader {
    private let exchange: any LineExchange
    private var splitter = LineSplitter()
    private var waiting: ArraySlice<LineSplitter.Line> = []
    private var isAtEnd = false
    private var waitingBytes = 0

    static let batch = 1_000
    static let batchBytes = 4 << 20

    init(_ exchange: any LineExchange) { self.exchange = exchange }

    /// The next lines; empty at the end.
    mutating func next() async throws -> [LineSplitter.Line] {
        while !isAtEnd && waiting.count < Self.batch && waitingBytes < Self.batchBytes {
            if let piece = try await exchange.read() {
                waiting += splitter.append(piece)
                waitingBytes += piece.count
            } else {
                isAtEnd = true
                if let last = splitter.finish() { waiting.append(last) }
            }
        }
        let batch = Array(waiting.prefix(Self.batch))
        waiting = waiting.dropFirst(batch.count)
        // What is left over is less than a piece.
        waitingBytes = 0
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
