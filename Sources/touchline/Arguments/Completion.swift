internal import Executables

/// What may be typed next: for the shells' completion.
enum Completion {
    /// The words that may follow `words`, which stand behind the program's name and are whole.
    static func candidates(after words: [String], among commands: [Command]) -> [String] {
        guard let first = words.first else { return unique(commands.compactMap(\.words.first)) + ["--help"] }
        let ofNoun = commands.filter { $0.words.first == first }
        guard !ofNoun.isEmpty else { return [] }
        if words.count == 1, !ofNoun.contains(where: { $0.words.count == 1 }) {
            return ofNoun.compactMap { $0.words.last }
        }
        guard let command = ofNoun.first(where: { words.starts(with: $0.words) }) else { return [] }
        // The shell completes an option's value as the name of a file.
        if let option = command.options.first(where: { $0.name == words.last }), option.takesValue { return [] }
        return command.options.map(\.name).filter { !words.contains($0) } + ["--help"]
    }

    private static func unique(_ words: [String]) -> [String] {
        words.reduce(into: []) { kept, word in
            if !kept.contains(word) { kept.append(word) }
        }
    }
}

extension Command {
    /// Called by the scripts below; asks no service.
    static let complete = Command(
        "complete",
        "print what may be typed next (the shells call it)",
        arguments: [Argument("WORD", "behind --: what is typed already", isOptional: true, repeats: true)],
        example: "touchline complete -- match",
        run: { invocation throws(Failure) in
            for word in Completion.candidates(after: invocation.words, among: Command.all) { Terminal.print(word) }
        }
    )

    static let completions = Command(
        "completions",
        "print the completion script for a shell",
        arguments: [Argument("SHELL", "bash, zsh or fish")],
        details: "For bash: touchline completions bash > /etc/bash_completion.d/touchline",
        example: "source <(touchline completions bash)",
        run: { invocation throws(Failure) in
            guard let script = completionScripts[invocation.words[0]] else {
                throw Failure(.wrongUse, "there are completions for bash, zsh and fish")
            }
            Terminal.print(script)
        }
    )

    private static let completionScripts = [
        "bash": #"""
        _touchline() {
            local words
            words=$(touchline complete -- "${COMP_WORDS[@]:1:COMP_CWORD-1}" 2>/dev/null)
            mapfile -t COMPREPLY < <(compgen -W "$words" -- "${COMP_WORDS[COMP_CWORD]}")
        }
        complete -o default -F _touchline touchline
        """#,
        "zsh": #"""
        #compdef touchline
        _touchline() {
            local -a found
            found=(${(f)"$(touchline complete -- "${(@)words[2,CURRENT-1]}" 2>/dev/null)"})
            if (( $#found )); then compadd -a found; else _files; fi
        }
        compdef _touchline touchline
        """#,
        "fish": #"""
        complete -c touchline -a '(touchline complete -- (commandline -opc)[2..] 2>/dev/null)'
        """#,
    ]
}
