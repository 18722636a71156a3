internal import Executables

/// Rows for people, in columns that fit the terminal.
struct Table: Sendable {
    let headers: [String]
    private(set) var rows: [[String]] = []
    /// The columns whose cells stand right: numbers.
    var rightAligned: Set<Int>
    /// The columns that give way last: ids, which a person copies.
    var whole: Set<Int>

    private let width: Int
    private static let gap = "  "

    init(
        _ headers: [String],
        rightAligned: Set<Int> = [],
        whole: Set<Int> = [],
        width: Int = Terminal.width
    ) {
        self.headers = headers
        self.whole = whole
        self.width = width
        self.rightAligned = rightAligned
    }

    mutating func add(_ row: [String]) {
        precondition(row.count == headers.count, "\(row.count) cells for \(headers.count) columns")
        // A cell is one line, whatever a name holds.
        rows.append(row.map { String($0.map { $0.isNewline || $0.isControl ? " " : $0 }) })
    }

    /// The lines, without the last line's end.
    var text: String {
        let widths = self.widths
        return ([headers] + rows).map { row in
            var line = ""
            for (index, cell) in row.enumerated() {
                let cell = Self.cut(cell, to: widths[index])
                let padding = String(repeating: " ", count: widths[index] - cell.count)
                line += (index > 0 ? Self.gap : "") + (rightAligned.contains(index) ? padding + cell : cell + padding)
            }
            while line.last == " " { line.removeLast() }
            return line
        }.joined(separator: "\n")
    }

    /// As wide as the widest cell; when that is too much together, the widest columns give way, those of ids last.
    private var widths: [Int] {
        var widths = headers.indices.map { column in ([headers] + rows).map { $0[column].count }.max() ?? 0 }
        let room = width - Self.gap.count * (headers.count - 1)
        while widths.reduce(0, +) > room {
            let wide = widths.indices.filter { widths[$0] > 4 }
            let others = wide.filter { !whole.contains($0) }
            // The last of the widest.
            let column = (others.isEmpty ? wide : others).max { (widths[$0], $0) < (widths[$1], $1) }
            guard let column else { break }
            widths[column] -= 1
        }
        return widths
    }

    private static func cut(_ text: String, to width: Int) -> String {
        text.count <= width ? text : text.prefix(width - 1) + "…"
    }
}

extension Character {
    fileprivate var isControl: Bool { unicodeScalars.contains { $0.properties.generalCategory == .control } }
}
