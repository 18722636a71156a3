/// Writes a page for `man` from the same table that the parser reads and the help is made of.
package struct ManPage: Sendable {
    private let program: Program
    private let commands: [Command]

    package init(program: Program, commands: [Command]) {
        self.program = program
        self.commands = commands
    }

    /// The page in roff, with man(7)'s macros.
    ///
    /// - Parameter version: What stands at its foot.
    /// - Returns: Lines, the last one ended.
    package func text(version: String) -> String {
        let title = program.name.uppercased()
        var lines = [
            ".TH \(title) 1 \"\" \"\(Self.escaped("\(program.name) \(version)"))\" \"User Commands\"",
            ".SH NAME", "\(program.name) \\- \(Self.escaped(firstSentence))",
            ".SH SYNOPSIS", ".B \(program.name)", ".I COMMAND", "[options]",
            ".SH DESCRIPTION", Self.escaped(program.introduction), ".PP", ".nf", Self.escaped(program.closing), ".fi",
            ".SH COMMANDS",
        ]
        for command in commands { lines += self.lines(of: command) }
        let variables = Set(commands.flatMap(\.options).compactMap(\.environment)).sorted()
        if !variables.isEmpty { lines += [".SH ENVIRONMENT", Self.escaped(variables.joined(separator: ", "))] }
        return lines.joined(separator: "\n") + "\n"
    }

    private var firstSentence: String {
        String(program.introduction.split(separator: "\n").first?.prefix { $0 != "." } ?? "")
    }

    private func lines(of command: Command) -> [String] {
        let usage = ([program.name, command.name] + command.arguments.map(\.usage)).joined(separator: " ")
        var lines = [".SS \(Self.escaped(usage))", Self.escaped(command.summary)]
        for paragraph in command.details.split(separator: "\n\n") { lines += [".PP", Self.escaped(String(paragraph))] }
        for argument in command.arguments {
            lines += [".TP", ".I \(Self.escaped(argument.name))", Self.escaped(argument.summary)]
        }
        for option in command.options { lines += [".TP", Self.head(of: option), Self.summary(of: option)] }
        for (what, line) in [("Example", command.example)] + command.examples.map({ ($0.what, $0.line) }) {
            lines += [".PP", "\(Self.escaped(what)):", ".PP", ".nf", ".RS", Self.escaped(line), ".RE", ".fi"]
        }
        return lines
    }

    private static func head(of option: Option) -> String {
        let name = ".B \(escaped(option.name))"
        return option.placeholder.map { "\(name) \(escaped($0))" } ?? name
    }

    private static func summary(of option: Option) -> String {
        var notes = option.isRequired ? ["required"] : []
        if let fallback = option.fallback { notes.append("default \(fallback)") }
        if let environment = option.environment { notes.append("or \(environment)") }
        return escaped(option.summary + (notes.isEmpty ? "" : " (\(notes.joined(separator: "; ")))"))
    }

    /// A backslash and a hyphen mean something to roff, and so does a dot or quote that begins a line.
    private static func escaped(_ text: String) -> String {
        let inner = text.replacing("\\", with: "\\e").replacing("-", with: "\\-")
        return inner.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            line.hasPrefix(".") || line.hasPrefix("'") ? "\\&" + line : String(line)
        }.joined(separator: "\n")
    }
}
