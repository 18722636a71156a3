/// Cuts a body that arrives in pieces into lines. Holds no more than the line that is not complete yet, and that one
/// only up to ``maxLineBytes``.
struct LineSplitter {
    /// The longest line.
    static let maxLineBytes = 64 << 10

    enum Line: Equatable, Sendable {
        case bytes([UInt8])
        /// A line longer than ``LineSplitter/maxLineBytes``, whose bytes were let go.
        case tooLong
    }

    private var partial: [UInt8] = []
    private var isTooLong = false

    /// The lines that `piece` completes, without those that hold nothing but blanks.
    mutating func append(_ piece: [UInt8]) -> [Line] {
        var lines: [Line] = []
        var rest = piece[...]
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            take(rest[..<end])
            if let line = finish() { lines.append(line) }
            rest = rest[(end + 1)...]
        }
        take(rest)
        return lines
    }

    /// The last line, when no newline stands behind it.
    mutating func finish() -> Line? {
        defer {
            partial = []
            isTooLong = false
        }
        if isTooLong { return .tooLong }
        let isBlank = partial.allSatisfy { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }
        return isBlank ? nil : .bytes(partial)
    }

    private mutating func take(_ bytes: ArraySlice<UInt8>) {
        guard !isTooLong else { return }
        guard partial.count + bytes.count <= Self.maxLineBytes else {
            isTooLong = true
            partial = []
            return
        }
        partial += bytes
    }
}
