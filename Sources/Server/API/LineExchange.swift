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
    private var hasBegun = false
    private var waitingBytes = 0

    static let batch = 1_000
    static let batchBytes = 4 << 20

    init(_ exchange: any LineExchange) { self.exchange = exchange }

    /// The next lines; empty at the end, and only there.
    ///
    /// - Throws: A `Problem`, before the first lines, for a body that is one JSON document instead of lines: some of its
    ///   lines could be taken for objects that were meant.
    mutating func next() async throws -> [LineSplitter.Line] {
        // Bytes without a line end are let go of by the splitter: a batch needs a line to be complete.
        while !isAtEnd && waiting.count < Self.batch && (waiting.isEmpty || waitingBytes < Self.batchBytes) {
            if let piece = try await exchange.read() {
                waiting += splitter.append(piece)
                waitingBytes += piece.count
                if splitter.opening == UInt8(ascii: "[") { throw Problem.arrayForLines }
            } else {
                isAtEnd = true
                if let last = splitter.finish() { waiting.append(last) }
            }
        }
        if !hasBegun, waiting.first?.endsInside == true { throw Problem.documentForLines }
        hasBegun = true
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
        case .tooLong(let bytes):
            throw Problem(
                .bodyTooLarge,
                "the line has \(bytes) bytes, \(LineSplitter.maxLineBytes) are the most",
                excess: Problem.SizeExcess(size: bytes, limit: LineSplitter.maxLineBytes)
            )
        }
    }
}

extension LineSplitter.Line {
    /// It ends where no JSON value does: its document goes on with the next line.
    fileprivate var endsInside: Bool {
        guard case .bytes(let bytes) = self, let last = bytes.last(where: { !LineSplitter.isBlank($0) }) else {
            return false
        }
        return [UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: ","), UInt8(ascii: ":")].contains(last)
    }
}

extension Problem {
    fileprivate static let arrayForLines = Problem(
        .malformedJSON,
        "the body is a JSON array; this call takes lines, each with one JSON object",
        hint: "Send each element as a line of its own: jq -c '.[]'"
    )

    fileprivate static let documentForLines = Problem(
        .malformedJSON,
        "the first line is the beginning of a longer JSON document; this call takes lines, each with one JSON object",
        hint: "Write each object in a line of its own, without a comma after it: jq -c ."
    )

    /// The members of a refused line's answer.
    var lineMembers: [(String, JSONOutput)] {
        var members: [(String, JSONOutput)] = [
            ("status", "refused"), ("code", .string(code.rawValue)), ("detail", .string(detail)),
        ]
        if let field { members.append(("field", .string(field))) }
        if let excess { members += [("size", .int(excess.size)), ("limit", .int(excess.limit))] }
        return members
    }
}

extension JSONValue {
    /// A line's id for its answer, whatever else is wrong with it.
    func text(_ name: String) -> String? {
        if case .string(let text)? = member(name)?.content { text } else { nil }
    }
}
