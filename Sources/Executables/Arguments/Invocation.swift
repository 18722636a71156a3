/// What a command was called with: its options, each from the command line, the environment or its default, and the
/// words that stand without a name.
package struct Invocation: Sendable {
    package let command: Command
    package let environment: [String: String]
    /// In the order of ``Command/arguments``; a repeating one has the rest.
    package let words: [String]
    /// By name, as typed; the last one wins.
    private let given: [String: String]

    package init(command: Command, words: [String], given: [String: String], environment: [String: String]) {
        self.command = command
        self.words = words
        self.given = given
        self.environment = environment
    }

    /// The same call, with values that stand in for what was not typed; those of names that are not declared are left out.
    package func withDefaults(_ values: [String: String]) -> Invocation {
        let known = values.filter { value in command.options.contains { $0.name == value.key } }
        return Invocation(
            command: command,
            words: words,
            given: known.merging(given) { $1 },
            environment: environment
        )
    }

    /// Whether a switch is on: named, or its environment variable is `1`, `true` or `yes`.
    package func isOn(_ name: String) -> Bool {
        let option = declared(name)
        precondition(!option.takesValue, "\(name) takes a value")
        if given[name] != nil { return true }
        guard let variable = option.environment, let value = environment[variable] else { return false }
        return ["1", "true", "yes"].contains(value.lowercased())
    }

    /// The option's value: typed, else from the environment (an empty variable counts as none), else its default.
    package func value(_ name: String) -> String? {
        let option = declared(name)
        precondition(option.takesValue, "\(name) takes no value")
        if let typed = given[name] { return typed }
        if let variable = option.environment, let value = environment[variable], !value.isEmpty { return value }
        return option.fallback
    }

    /// The same, for whoever does not know the command: nil for an option that it does not have.
    package func valueIfDeclared(_ name: String) -> String? {
        command.options.contains { $0.name == name && $0.takesValue } ? value(name) : nil
    }

    /// The option's value, which must be there.
    package func required(_ name: String) throws(Failure) -> String {
        if let value = value(name) { return value }
        let option = declared(name)
        let orVariable = option.environment.map { " (or \($0))" } ?? ""
        throw Failure(
            .wrongUse,
            "\(name) \(option.placeholder ?? "")\(orVariable) is missing",
            hint: hint(for: option)
        )
    }

    /// The command's example, if it has the option; else how to name it.
    private func hint(for option: Option) -> String {
        if command.example.contains(option.name) { return "Try: \(command.example)" }
        let variable = option.environment.map { ", or export \($0)=…" } ?? ""
        return "Name it: \(option.name) \(option.placeholder ?? "")\(variable)"
    }

    /// The option's value as a whole number within `range`; nil when there is none.
    package func integer(_ name: String, in range: ClosedRange<Int>) throws(Failure) -> Int? {
        guard let text = value(name) else { return nil }
        guard let number = Int(text), range.contains(number) else {
            throw Failure(
                .wrongUse,
                "\(name) must be a whole number from \(range.lowerBound) to \(range.upperBound), not “\(text)”"
            )
        }
        return number
    }

    /// The option's value as a host and a port; nil when there is none.
    package func hostPort(_ name: String) throws(Failure) -> (host: String, port: Int)? {
        guard let text = value(name) else { return nil }
        guard let colon = text.lastIndex(of: ":"), colon > text.startIndex,
            let port = Int(text[text.index(after: colon)...]), (0...65_535).contains(port)
        else {
            throw Failure(.wrongUse, "\(name) must be HOST:PORT, not “\(text)”")
        }
        var host = String(text[..<colon])
        if host.hasPrefix("["), host.hasSuffix("]") { host = String(host.dropFirst().dropLast()) }
        return (host, port)
    }

    private func declared(_ name: String) -> Option {
        guard let option = command.options.first(where: { $0.name == name }) else {
            preconditionFailure("\(command.name) declares no \(name)")
        }
        return option
    }
}
