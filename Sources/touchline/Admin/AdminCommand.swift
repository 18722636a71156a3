internal import Core
internal import Executables

/// Builds the commands that are one call of the API each.
enum AdminCommand {
    /// What is sent.
    struct Call: Sendable {
        let method: String
        let path: String
        var body: JSONOutput?
    }

    /// Options of a list.
    static let paging = [
        Option("--limit", "N", default: "50", "how many at most"),
        Option("--after", "ID", "go on behind this one, as the list before said"),
    ]

    /// A command that shows a list.
    static func list(
        _ words: String,
        _ summary: String,
        arguments: [Argument] = [],
        options: [Option] = [],
        columns: [AnswerView.Column],
        items: String = "items",
        whenEmpty: String = "none",
        isPaged: Bool = true,
        example: String,
        path: @escaping @Sendable (Invocation) throws(Failure) -> String
    ) -> Command {
        Command(
            words,
            summary,
            arguments: arguments,
            options: options + (isPaged ? paging : []) + [APIOptions.json] + APIOptions.all,
            example: example
        ) { invocation throws(Failure) in
            var path = try path(invocation)
            if isPaged {
                path += "?limit=\(try invocation.integer("--limit", in: 1...1_000) ?? 50)"
                if let after = invocation.value("--after") { path += "&after=\(ServiceURL.segment(after))" }
            }
            let answer = try await APIOptions.client(invocation).send("GET", path)
            try AnswerView(invocation).list(answer, columns, list: items, whenEmpty: whenEmpty)
        }
    }

    /// A command that makes, changes, shows or deletes one thing.
    static func one(
        _ words: String,
        _ summary: String,
        arguments: [Argument] = [],
        options: [Option] = [],
        details: String = "",
        example: String,
        examples: [Command.Example] = [],
        remark: @escaping @Sendable (APIClient.Answer) throws(Failure) -> String? = { _ throws(Failure) in nil },
        call: @escaping @Sendable (Invocation) throws(Failure) -> Call
    ) -> Command {
        Command(
            words,
            summary,
            arguments: arguments,
            options: options + [APIOptions.json] + APIOptions.all,
            details: details,
            example: example,
            examples: examples
        ) { invocation throws(Failure) in
            let call = try call(invocation)
            let answer = try await APIOptions.client(invocation).send(call.method, call.path, call.body)
            try AnswerView(invocation).object(answer)
            // What it throws says that the call was answered, and that nothing came of it.
            if let text = try remark(answer), !invocation.isOn("--json") { Terminal.complain(text) }
        }
    }

    /// `/v1/matches/{match}` and what follows; each word becomes one segment.
    static func path(_ segments: String...) -> String {
        "/v1/" + segments.map(ServiceURL.segment).joined(separator: "/")
    }

    /// JSON that is typed as it is, or stands in a file: `@state.json`.
    static func json(_ option: String, _ invocation: Invocation) throws(Failure) -> JSONOutput? {
        guard let text = invocation.value(option) else { return nil }
        let bytes = text.hasPrefix("@") ? try File.read(String(text.dropFirst())) : Array(text.utf8)
        do throws(Problem) {
            return .raw(try JSONScanner.decode(bytes).rawJSON)
        } catch {
            throw Failure(.wrongUse, "\(option): \(error.detail)", hint: error.hint)
        }
    }

    static func text(_ option: String, _ invocation: Invocation) -> JSONOutput? {
        invocation.value(option).map { .string($0) }
    }

    static func number(
        _ option: String,
        _ invocation: Invocation,
        in range: ClosedRange<Int> = 0...Int.max
    ) throws(Failure) -> JSONOutput? {
        try invocation.integer(option, in: range).map { .int($0) }
    }

    /// A switch with a value, for what can also be switched off: `--tokens no`.
    static func yesOrNo(_ option: String, _ invocation: Invocation) throws(Failure) -> JSONOutput? {
        switch invocation.value(option) {
        case nil: return nil
        case "yes", "true": return .bool(true)
        case "no", "false": return .bool(false)
        case let other?: throw Failure(.wrongUse, "\(option) is “yes” or “no”, not “\(other)”")
        }
    }
}
