internal import Core
internal import HTTP2

/// The lines of a body, in batches: many small JSON objects, one a line, empty lines left out.
struct Lines: Sendable {
    /// How many lines are taken together; bounds what a request holds at once.
    static let batch = 1_000
    /// The longest line.
    static let maxLineBytes = 64 << 10

    private let body: [UInt8]
    private var place = 0

    init(_ body: [UInt8]) { self.body = body }

    /// The next lines; empty at the end.
    mutating func next() -> [ArraySlice<UInt8>] {
        var lines: [ArraySlice<UInt8>] = []
        while lines.count < Self.batch, place < body.count {
            let end = body[place...].firstIndex(of: UInt8(ascii: "\n")) ?? body.count
            let line = body[place..<end]
            place = end + 1
            if line.contains(where: { $0 != 0x20 && $0 != 0x09 && $0 != 0x0D }) { lines.append(line) }
        }
        return lines
    }

    /// One line as JSON.
    static func json(_ line: ArraySlice<UInt8>) throws(Problem) -> JSONValue {
        guard line.count <= maxLineBytes else {
            throw Problem(.bodyTooLarge, "the line has \(line.count) bytes, \(maxLineBytes) are the most")
        }
        return try JSONScanner.decode(Array(line))
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
