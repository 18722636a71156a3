/// One `--name` of a command, with the environment variable and the value that stand in for it.
struct Option: Sendable {
    /// As typed: `--listen`.
    let name: String
    /// What its value is called in the help, `HOST:PORT`; nil for a switch that takes none.
    let placeholder: String?
    /// The environment variable that stands in when the option is not given.
    let environment: String?
    /// The value when neither is given.
    let fallback: String?
    /// The help says so; the command asks for it by ``Invocation/required(_:)``.
    let isRequired: Bool
    /// One line for the help.
    let summary: String

    /// An option with a value.
    init(
        _ name: String,
        _ placeholder: String,
        environment: String? = nil,
        default fallback: String? = nil,
        isRequired: Bool = false,
        _ summary: String
    ) {
        self.name = name
        self.placeholder = placeholder
        self.environment = environment
        self.fallback = fallback
        self.isRequired = isRequired
        self.summary = summary
    }

    /// A switch: there or not.
    init(_ name: String, environment: String? = nil, _ summary: String) {
        self.name = name
        placeholder = nil
        self.environment = environment
        fallback = nil
        isRequired = false
        self.summary = summary
    }

    var takesValue: Bool { placeholder != nil }
}

/// One word of a command that stands without a name.
struct Argument: Sendable {
    /// As the help shows it: `MATCH`.
    let name: String
    let summary: String
    let isOptional: Bool
    /// Takes all the words that are left, one at least unless it is optional.
    let repeats: Bool

    init(_ name: String, _ summary: String, isOptional: Bool = false, repeats: Bool = false) {
        self.name = name
        self.summary = summary
        self.isOptional = isOptional
        self.repeats = repeats
    }

    /// `MATCH`, `[MATCH]` or `FILE…`.
    var usage: String {
        let shown = name + (repeats ? "…" : "")
        return isOptional ? "[\(shown)]" : shown
    }
}
