/// One `--name` of a command, with the environment variable and the value that stand in for it.
package struct Option: Sendable {
    /// As typed: `--listen`.
    package let name: String
    /// What its value is called in the help, `HOST:PORT`; nil for a switch that takes none.
    package let placeholder: String?
    /// The environment variable that stands in when the option is not given.
    package let environment: String?
    /// The value when neither is given.
    package let fallback: String?
    /// The help says so; the command asks for it by ``Invocation/required(_:)``.
    package let isRequired: Bool
    /// One line for the help.
    package let summary: String
    /// What other programs call it: not taken, but whoever types it is told this option's name.
    package let otherNames: [String]

    /// An option with a value.
    package init(
        _ name: String,
        _ placeholder: String,
        environment: String? = nil,
        default fallback: String? = nil,
        isRequired: Bool = false,
        otherNames: [String] = [],
        _ summary: String
    ) {
        self.name = name
        self.placeholder = placeholder
        self.environment = environment
        self.fallback = fallback
        self.isRequired = isRequired
        self.summary = summary
        self.otherNames = otherNames
    }

    /// A switch: there or not.
    package init(_ name: String, environment: String? = nil, otherNames: [String] = [], _ summary: String) {
        self.name = name
        placeholder = nil
        self.environment = environment
        fallback = nil
        isRequired = false
        self.summary = summary
        self.otherNames = otherNames
    }

    package var takesValue: Bool { placeholder != nil }
}

/// One word of a command that stands without a name.
package struct Argument: Sendable {
    /// As the help shows it: `MATCH`.
    package let name: String
    package let summary: String
    package let isOptional: Bool
    /// Takes all the words that are left, one at least unless it is optional.
    package let repeats: Bool

    package init(_ name: String, _ summary: String, isOptional: Bool = false, repeats: Bool = false) {
        self.name = name
        self.summary = summary
        self.isOptional = isOptional
        self.repeats = repeats
    }

    /// `MATCH`, `[MATCH]` or `FILE…`.
    package var usage: String {
        let shown = name + (repeats ? "…" : "")
        return isOptional ? "[\(shown)]" : shown
    }
}
