/// Turns the words of a command line into a command and what it was called with. Pure: words in, a decision out.
package struct CommandParser: Sendable {
    package let program: Program
    package let commands: [Command]

    package init(program: Program, commands: [Command]) {
        self.program = program
        self.commands = commands
    }

    /// What is to be done.
    package enum Decision: Sendable {
        case run(Invocation)
        /// Text for standard output.
        case help(String)
    }

    /// - Parameters:
    ///   - words: Without the program's own name.
    ///   - environment: What stands in for options that are not given.
    /// - Returns: The command to run, or the help that was asked for.
    /// - Throws: ``Failure`` of the kind `wrongUse`, with a suggestion where a word is near a known one.
    package func parse(_ words: [String], environment: [String: String]) throws(Failure) -> Decision {
        guard let first = words.first, !Self.asksForHelp(first) else {
            // `touchline help match show` is `touchline match show --help`.
            if words.first == "help", words.count > 1 {
                return try parse(Array(words.dropFirst()) + ["--help"], environment: environment)
            }
            return .help(help.overview())
        }
        let (command, rest) = try find(words, first: first)
        guard let command else { return .help(help.noun(first)) }
        if rest.prefix(while: { $0 != "--" }).contains(where: { $0 == "--help" || $0 == "-h" }) {
            return .help(help.command(command))
        }
        return .run(try invocation(of: command, rest, environment: environment))
    }

    private var help: HelpText { HelpText(program: program, commands: commands) }

    /// The option that was meant: one that says so itself, or the nearest name.
    private func hint(for name: String, of command: Command) -> String {
        if let option = command.options.first(where: { $0.otherNames.contains(name) }) {
            return "Did you mean “\(option.name)”?"
        }
        let known = command.options.map(\.name) + ["--help"]
        return Suggestion.hint(for: name, among: known, of: program, help: command.name)
    }

    private static func asksForHelp(_ word: String) -> Bool { word == "--help" || word == "-h" || word == "help" }

    /// The command and the words behind its own; no command when only its noun is there and help is wanted.
    private func find(_ words: [String], first: String) throws(Failure) -> (Command?, [String]) {
        if let command = commands.first(where: { $0.words == [first] }) { return (command, Array(words.dropFirst())) }
        let ofNoun = commands.filter { $0.words.first == first }
        guard !ofNoun.isEmpty else {
            let known = commands.compactMap(\.words.first)
            throw Failure(
                .wrongUse,
                "there is no command “\(first)”",
                hint: Suggestion.hint(for: first, among: known, of: program)
            )
        }
        guard words.count > 1, !Self.asksForHelp(words[1]) else { return (nil, []) }
        guard let command = ofNoun.first(where: { $0.words[1] == words[1] }) else {
            let known = ofNoun.map { $0.words[1] }
            throw Failure(
                .wrongUse,
                "“\(first)” has no “\(words[1])”",
                hint: Suggestion.hint(for: words[1], among: known, of: program, help: first)
            )
        }
        return (command, Array(words.dropFirst(2)))
    }

    private func invocation(
        of command: Command,
        _ rest: [String],
        environment: [String: String]
    ) throws(Failure) -> Invocation {
        var given: [String: String] = [:]
        var plain: [String] = []
        var index = rest.startIndex
        while index < rest.endIndex {
            let word = rest[index]
            index += 1
            if word == "--" {
                plain += rest[index...]
                break
            }
            guard word.hasPrefix("-"), word != "-" else {
                plain.append(word)
                continue
            }
            let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard let option = command.options.first(where: { $0.name == parts[0] }) else {
                throw Failure(
                    .wrongUse,
                    "“\(command.name)” has no option “\(parts[0])”",
                    hint: hint(for: parts[0], of: command)
                )
            }
            given[option.name] = try value(of: option, parts: parts, rest: rest, index: &index)
        }
        try check(plain, against: command)
        return Invocation(command: command, words: plain, given: given, environment: environment)
    }

    private func value(
        of option: Option,
        parts: [String],
        rest: [String],
        index: inout Int
    ) throws(Failure) -> String {
        guard let placeholder = option.placeholder else {
            guard parts.count == 1 else { throw Failure(.wrongUse, "\(option.name) takes no value") }
            return ""
        }
        if parts.count == 2 { return parts[1] }
        guard index < rest.endIndex, !rest[index].hasPrefix("--") else {
            throw Failure(.wrongUse, "\(option.name) needs a value: \(option.name) \(placeholder)")
        }
        defer { index += 1 }
        return rest[index]
    }

    private func check(_ plain: [String], against command: Command) throws(Failure) {
        let needed = command.arguments.filter { !$0.isOptional }
        if plain.count < needed.count {
            throw Failure(
                .wrongUse,
                "“\(command.name)” needs \(needed[plain.count].usage)",
                hint: "Try: \(command.example)"
            )
        }
        let repeats = command.arguments.contains(where: \.repeats)
        if plain.count > command.arguments.count, !repeats {
            throw Failure(
                .wrongUse,
                "“\(command.name)” does not take “\(plain[command.arguments.count])”",
                hint: "Try: \(command.example)"
            )
        }
    }
}
