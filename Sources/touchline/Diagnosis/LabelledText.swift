/// Paragraphs for a terminal, each with a label in a column of its own, within 80 columns.
enum LabelledText {
    /// A terminal's width.
    static let columns = 80

    /// Labels and texts, one below the other; an empty label goes on with what stands above.
    static func text(_ rows: [(label: String, text: String)]) -> String {
        let width = rows.map(\.label.count).max() ?? 0
        return rows.map { row in
            let label = row.label + String(repeating: " ", count: width - row.label.count)
            return wrapped(row.text, to: columns - width - 2).enumerated().map { index, line in
                (index == 0 ? label : String(repeating: " ", count: width)) + "  " + line
            }.joined(separator: "\n")
        }.joined(separator: "\n")
    }

    /// Breaks between words; a longer word stays whole, so that it can be copied.
    static func wrapped(_ text: String, to width: Int) -> [String] {
        var lines = [""]
        for word in text.split(separator: " ") {
            let last = lines.count - 1
            if lines[last].isEmpty {
                lines[last] = String(word)
            } else if lines[last].count + 1 + word.count <= width {
                lines[last] += " " + word
            } else {
                lines.append(String(word))
            }
        }
        return lines
    }
}
