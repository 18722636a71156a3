/// What a command line calls itself, and what its help says before and behind the commands.
package struct Program: Sendable {
    package let name: String
    /// What it is, in a sentence or two, within 80 columns.
    package let introduction: String
    /// Where to read on, the exit codes and an example, within 80 columns.
    package let closing: String

    package init(name: String, introduction: String, closing: String) {
        self.name = name
        self.introduction = introduction
        self.closing = closing
    }
}

/// One thing that the command line does: `touchline match show`.
package struct Command: Sendable {
    /// The words that call it: `["match", "show"]`, or one word.
    package let words: [String]
    /// One line for the lists of commands.
    package let summary: String
    package let arguments: [Argument]
    package let options: [Option]
    /// More than the summary, for its own help, in paragraphs; wrapped there. May be empty.
    package let details: String
    /// A whole line that works, without the `$`.
    package let example: String
    /// Further lines, each with what it does.
    package let examples: [Example]
    package let run: @Sendable (Invocation) async throws(Failure) -> Void

    /// A line for the help, to be copied as it stands.
    package struct Example: Sendable {
        package let what: String
        package let line: String

        package init(_ what: String, _ line: String) {
            self.what = what
            self.line = line
        }
    }

    package init(
        _ words: String,
        _ summary: String,
        arguments: [Argument] = [],
        options: [Option] = [],
        details: String = "",
        example: String,
        examples: [Example] = [],
        run: @escaping @Sendable (Invocation) async throws(Failure) -> Void
    ) {
        self.words = words.split(separator: " ").map(String.init)
        self.summary = summary
        self.arguments = arguments
        self.options = options
        self.details = details
        self.example = example
        self.examples = examples
        self.run = run
    }

    /// `match show`.
    package var name: String { words.joined(separator: " ") }
}
