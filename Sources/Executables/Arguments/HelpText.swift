/// Writes the help, from the same table that the parser reads, within 80 columns.
struct HelpText {
    let program: Program
    let commands: [Command]
    private let width = 80

    /// All commands: those of one word, then the nouns with their verbs.
    func overview() -> String {
        var text = """
            \(program.introduction)

            usage: \(program.name) COMMAND [options]

            """
        text += "\n" + columns(commands.filter { $0.words.count == 1 }.map { ($0.name, $0.summary) })
        var nouns: [String] = []
        for command in commands where command.words.count > 1 && !nouns.contains(command.words[0]) {
            nouns.append(command.words[0])
        }
        if !nouns.isEmpty { text += "\n" + columns(nouns.map { noun in (noun, verbs(of: noun)) }) }
        text += "\n\(program.closing)\n"
        return text
    }

    /// The verbs of one noun.
    func noun(_ noun: String) -> String {
        let own = commands.filter { $0.words.first == noun }
        return """
            usage: \(program.name) \(noun) VERB [options]

            \(columns(own.map { ($0.name, $0.summary) }))
            \(own.first.map(example) ?? "")

            """
    }

    /// One command in full.
    func command(_ command: Command) -> String {
        let usage = ([program.name, command.name] + command.arguments.map(\.usage)).joined(separator: " ")
        var text = "usage: \(usage)\(command.options.isEmpty ? "" : " [options]")\n\n"
        text += wrap(command.summary, indent: 0) + "\n"
        for paragraph in command.details.split(separator: "\n\n") {
            text += "\n" + wrap(paragraph.split(separator: "\n").joined(separator: " "), indent: 0) + "\n"
        }
        if !command.arguments.isEmpty {
            text += "\n" + columns(command.arguments.map { ($0.usage, $0.summary) })
        }
        if !command.options.isEmpty { text += "\n" + command.options.map(option).joined() }
        text += "\n\(example(command))\n"
        for example in command.examples { text += "\n\(wrap(example.what, indent: 0)):\n    \(folded(example.line))\n" }
        return text
    }

    private func option(_ option: Option) -> String {
        let head = option.placeholder.map { "\(option.name) \($0)" } ?? option.name
        var notes = option.isRequired ? ["required"] : []
        if let fallback = option.fallback { notes.append("default \(fallback)") }
        if let environment = option.environment { notes.append("or \(environment)") }
        let tail = notes.isEmpty ? "" : " (\(notes.joined(separator: "; ")))"
        return columns([(head, option.summary + tail)])
    }

    private func example(_ command: Command) -> String { "example: " + folded(command.example, after: 9) }

    /// A line to be copied as it stands: a long one goes on behind a backslash.
    private func folded(_ line: String, after indent: Int = 4) -> String {
        var lines = [String(repeating: " ", count: indent)]
        let words = line.split(separator: " ")
        for (index, word) in words.enumerated() {
            // An option stays beside its value.
            let value = word.hasPrefix("--") && index + 1 < words.count ? words[index + 1].count + 1 : 0
            let isFull = lines[lines.count - 1].count + 1 + word.count + value > width - 2
            if isFull, word.hasPrefix("--") {
                lines[lines.count - 1] += " \\"
                lines.append("       ")
            }
            lines[lines.count - 1] += (index == 0 ? "" : " ") + word
        }
        lines[0] = String(lines[0].dropFirst(indent))
        return lines.joined(separator: "\n")
    }

    private func verbs(of noun: String) -> String {
        commands.filter { $0.words.first == noun && $0.words.count > 1 }.map { $0.words[1] }.joined(separator: ", ")
    }

    /// Names in a column of 22, what they are behind it; a longer name has a line of its own.
    private func columns(_ rows: [(name: String, summary: String)]) -> String {
        rows.map { row in
            let body = wrap(row.summary, indent: 24)
            if row.name.count > 21 { return "  \(row.name)\n\(String(repeating: " ", count: 24))\(body)\n" }
            return "  " + row.name + String(repeating: " ", count: 22 - row.name.count) + body + "\n"
        }.joined()
    }

    /// Breaks lines between words; lines behind the first are indented.
    private func wrap(_ text: String, indent: Int) -> String {
        var lines = [""]
        for word in text.split(separator: " ") {
            if lines[lines.count - 1].isEmpty {
                lines[lines.count - 1] = String(word)
            } else if lines[lines.count - 1].count + 1 + word.count <= width - indent {
                lines[lines.count - 1] += " " + word
            } else {
                lines.append(String(word))
            }
        }
        return lines.joined(separator: "\n" + String(repeating: " ", count: indent))
    }
}
