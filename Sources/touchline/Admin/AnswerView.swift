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
        /// Another command takes it: an id, which is cut last where the terminal is narrow.
        let isID: Bool
        /// Left out where no row has anything to show in it: 0, or nothing.
        let isOptional: Bool

        init(_ title: String, _ member: String, isRange: Bool = false, isID: Bool = false, isOptional: Bool = false) {
            self.isID = isID
            self.isOptional = isOptional
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
        whenEmpty: String = "none",
        last: Int = .max
    ) throws(Failure) {
        if asJSON { return Terminal.print(answer.text) }
        let value = try read(answer)
        guard case .array(let all)? = value.member(list)?.content else {
            throw Failure(.failed, "the service answered without \(list)")
        }
        let items = all.suffix(last)
        guard !items.isEmpty else { return Terminal.complain(whenEmpty) }
        let columns = columns.filter { column in
            !column.isOptional
                || items.contains { !["–", "0"].contains(Self.show(find(column.member, in: $0))) }
        }
        let numbers = columns.indices.filter { index in
            items.contains { if case .number? = find(columns[index].member, in: $0)?.content { true } else { false } }
        }
        var table = Table(
            columns.map(\.title),
            rightAligned: Set(numbers),
            whole: Set(columns.indices.filter { columns[$0].isID })
        )
        for item in items { table.add(columns.map { Self.show(find($0.member, in: item), isRange: $0.isRange) }) }
        Terminal.print(table.text)
        if case .string(let next)? = value.member("next")?.content {
            Terminal.complain("more: --after \(next)")
        }
    }

    /// One object, a line for each member.
    func object(_ answer: APIClient.Answer) throws(Failure) {
        if asJSON { return Terminal.print(answer.body.isEmpty ? "{}" : answer.text) }
        guard !answer.body.isEmpty, case .object(let members) = try read(answer).content else {
            return Terminal.complain("done")
        }
        Terminal.print(Self.text(of: members))
    }

    /// A line for each member, one for each of an object within: `pacing.frequent.gap_seconds  5`. What is too long goes
    /// on below itself.
    static func text(of members: [JSONMember], width columns: Int = Terminal.width) -> String {
        let flat = members.flatMap { Self.flat($0.name, $0.value) }
        let width = flat.map(\.name.count).max() ?? 0
        return flat.flatMap { name, value in
            let padding = String(repeating: " ", count: width - name.count)
            let lines = Self.lines(value).flatMap { Self.wrapped($0, to: columns - width - 2) }
            return lines.enumerated().map { index, line in
                (index == 0 ? name + padding : String(repeating: " ", count: width)) + "  " + line
            }
        }.joined(separator: "\n")
    }

    /// Members of objects by their path. A content state, and whatever else is the tenant's own, stays one piece.
    private static func flat(_ name: String, _ value: JSONValue) -> [(name: String, value: JSONValue)] {
        guard case .object(let members) = value.content, !members.isEmpty,
            !["content_state", "attributes", "start"].contains(name)
        else { return [(name, value)] }
        return members.flatMap { flat("\(name).\($0.name)", $0.value) }
    }

    /// Breaks at spaces, and only a word that is too long within it.
    private static func wrapped(_ text: String, to width: Int) -> [String] {
        let width = max(width, 20)
        var lines: [String] = []
        var rest = Substring(text)
        while rest.count > width {
            let piece = rest.prefix(width)
            let end = piece.lastIndex(of: " ").map { piece.index(after: $0) } ?? piece.endIndex
            lines.append(String(rest[..<end]))
            rest = rest[end...]
        }
        return lines + [String(rest)]
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
