/// One thing that the command line does: `touchline match show`.
struct Command: Sendable {
    /// The words that call it: `["match", "show"]`, or one word.
    let words: [String]
    /// One line for the lists of commands.
    let summary: String
    let arguments: [Argument]
    let options: [Option]
    /// More than the summary, for its own help, in paragraphs; wrapped there. May be empty.
    let details: String
    /// A whole line that works, without the `$`.
    let example: String
    let run: @Sendable (Invocation) async throws(Failure) -> Void

    init(
        _ words: String,
        _ summary: String,
        arguments: [Argument] = [],
        options: [Option] = [],
        details: String = "",
        example: String,
        run: @escaping @Sendable (Invocation) async throws(Failure) -> Void
    ) {
        self.words = words.split(separator: " ").map(String.init)
        self.summary = summary
        self.arguments = arguments
        self.options = options
        self.details = details
        self.example = example
        self.run = run
    }

    /// `match show`.
    var name: String { words.joined(separator: " ") }
}

/// Why a command ended without doing what it was asked; becomes the exit code and the text on standard error.
struct Failure: Error, Equatable, Sendable {
    enum Kind: Int32, Sendable {
        case failed = 1
        case wrongUse = 2
        case notFound = 3
        case notAllowed = 4
    }

    let kind: Kind
    /// What went wrong, in one sentence.
    let message: String
    /// What to do next.
    let hint: String?
    /// The service's code, where it was the service that said no: `channel_pending`.
    let code: String?

    init(_ kind: Kind = .failed, _ message: String, hint: String? = nil, code: String? = nil) {
        self.kind = kind
        self.message = message
        self.hint = hint
        self.code = code
    }
}
