internal import Core
internal import Executables

/// Shows what the service answered: as it came for programs, as a table or as lines for people.
struct AnswerView: Sendable {
    /// A column of a list: its title, and the member that it shows, `stopped.tokens` for one further down.
    struct Column: Sendable {
        let title: String
        let member: String
        /// The member holds the first and the last: `[3, 5]` is shown as 3–5, `[3, 3]` as 3.
        let isRange: Bool

        init(_ title: String, _ member: String, isRange: Bool = false) {
            self.title = title
            self.member = member
            self.isRange = isRange
        }
    }

    let asJSON: Bool

    init(_ invocation: Invocation) { asJSON = invocation.isOn("--json") }

    /// The `items` of a list (or the member named `list`).
    func list(
        _ answer: APIClient.Answer,
        _ columns: [Column],
        list: String = "items",
        whenEmpty: String = "none"
    ) throws(Failure) {
        if asJSON { return Terminal.print(answer.text) }
        let value = try read(answer)
        guard case .array(let items)? = value.member(list)?.content else {
            throw Failure(.failed, "the service answered without \(list)")
        }
        guard !items.isEmpty else { return Terminal.complain(whenEmpty) }
        let numbers = columns.indices.filter { index in
            items.contains { if case .number? = find(columns[index].member, in: $0)?.content { true } else { false } }
        }
        var table = Table(columns.map(\.title), rightAligned: Set(numbers))
        for item in items { table.add(columns.map { Self.show(find($0.member, in: item), isRange: $0.isRange) }) }
        Terminal.print(table.text)
        if case .string(let next)? = value.member("next")?.content {
            Terminal.complain("more: --after \(next)")
        }
    }

    /// One object, a line for each member.
    func object(_ answer: APIClient.Answer) throws(Failure) {
        if asJSON { return Terminal.print(answer.text) }
        guard !answer.body.isEmpty, case .object(let members) = try read(answer).content else {
            return Terminal.complain("done")
        }
        let width = members.map(\.name.count).max() ?? 0
        for member in members {
            let padding = String(repeating: " ", count: width - member.name.count)
            let lines = Self.lines(member.value)
            Terminal.print("\(member.name)\(padding)  \(lines[0])")
            for line in lines.dropFirst() { Terminal.print(String(repeating: " ", count: width + 2) + line) }
        }
    }

    private func read(_ answer: APIClient.Answer) throws(Failure) -> JSONValue {
        do throws(Problem) {
            return try JSONScanner.decode(answer.body)
        } catch {
            throw Failure(.failed, "the service answered something unexpected: \(answer.text.prefix(200))")
        }
    }

    private func find(_ path: String, in value: JSONValue) -> JSONValue? {
        path.split(separator: ".").reduce(Optional(value)) { $0?.member(String($1)) }
    }

    /// A list of objects has a line for each.
    private static func lines(_ value: JSONValue) -> [String] {
        guard case .array(let items) = value.content, !items.isEmpty else { return [show(value)] }
        let lines = items.map { item -> String? in
            guard case .object(let members) = item.content else { return nil }
            return members.map { "\($0.name)=\(show($0.value))" }.joined(separator: " ")
        }
        return lines.contains(nil) ? [show(value)] : lines.compactMap(\.self)
    }

    private static func show(_ value: JSONValue?, isRange: Bool) -> String {
        guard isRange, case .array(let ends)? = value?.content, ends.count == 2 else { return show(value) }
        let (first, last) = (show(ends[0]), show(ends[1]))
        return first == last ? first : "\(first)–\(last)"
    }

    private static func show(_ value: JSONValue?) -> String {
        switch value?.content {
        case .none, .null: "–"
        case .bool(let isTrue): isTrue ? "yes" : "no"
        case .number(let digits): digits
        case .string(let text): text
        case .array(let items): items.isEmpty ? "–" : items.map { show($0) }.joined(separator: ", ")
        case .object: value?.rawJSON.text ?? ""
        }
    }
}
