/// Cuts a body that arrives in pieces into lines. Holds no more than the line that is not complete yet, and that one
/// only up to ``maxLineBytes``.
struct LineSplitter {
    /// The longest line.
    static let maxLineBytes = 64 << 10

    enum Line: Equatable, Sendable {
        case bytes([UInt8])
        /// A line longer than ``LineSplitter/maxLineBytes``, whose bytes were let go.
        case tooLong(bytes: Int)
    }

    private var partial: [UInt8] = []
    private var isTooLong = false
    private var droppedBytes = 0
    /// The body's first byte that is neither blank nor of a byte order mark: of a line that is too long as well.
    private(set) var opening: UInt8?

    /// The lines that `piece` completes, without those that hold nothing but blanks.
    mutating func append(_ piece: [UInt8]) -> [Line] {
        if opening == nil { opening = piece.first { !Self.isBlank($0) && ![0xEF, 0xBB, 0xBF, 0x0A].contains($0) } }
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
        if isTooLong { return .tooLong(bytes: droppedBytes) }
        return partial.allSatisfy(Self.isBlank) ? nil : .bytes(partial)
    }

    static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0D }

    private mutating func take(_ bytes: ArraySlice<UInt8>) {
        guard !isTooLong else {
            droppedBytes += bytes.count
            return
        }
        guard partial.count + bytes.count <= Self.maxLineBytes else {
            isTooLong = true
            droppedBytes = partial.count + bytes.count
            partial = []
            return
        }
        partial += bytes
    }
}
