import FoundationEssentials

/// Goes through one value beside its types; collects warnings and the places where a date's text is replaced.
struct ContractChecker {
    private(set) var warnings: [String] = []
    private var edits: [(range: Range<Int>, text: String)] = []
    private let root: JSONValue

    init(root: JSONValue) { self.root = root }

    /// The root as it came, with the replacements made.
    var result: RawJSON {
        guard !edits.isEmpty else { return root.rawJSON }
        var bytes: [UInt8] = []
        var place = root.raw.startIndex
        for edit in edits {
            bytes += root.raw[place..<edit.range.lowerBound]
            bytes += edit.text.utf8
            place = edit.range.upperBound
        }
        bytes += root.raw[place...]
        return RawJSON(text: String(decoding: bytes, as: UTF8.self))
    }

    mutating func check(_ value: JSONValue, _ type: ContractType, path: String) throws(Problem) {
        switch (type, value.content) {
        case (.optional, .null): break
        case (.optional(let type), _): try check(value, type, path: path)
        case (.string, .string), (.bool, .bool): break
        case (.int, .number(let digits)): try checkInteger(digits, path: path)
        case (.double, .number(let digits)): try checkDouble(digits, path: path)
        case (.date, .number(let digits)): try checkDate(digits, path: path)
        case (.date(convertsText: true), .string(let text)): try convert(text, at: value, path: path)
        case (.date(convertsText: false), .string(let text)): throw textInsteadOfDate(text, path: path)
        case (.url, .string(let text)):
            guard !text.isEmpty, URL(string: text) != nil else { throw violation(path, "is no URL") }
        case (.uuid, .string(let text)):
            guard UUID(uuidString: text) != nil else { throw violation(path, "is no UUID") }
        case (.data, .string(let text)):
            guard Data(base64Encoded: text) != nil else { throw violation(path, "is no base64 text") }
        case (.choice(let choices), .string(let text)):
            guard choices.contains(where: { $0.utf8.elementsEqual(text.utf8) }) else {
                throw violation(path, "is none of \(choices.joined(separator: ", "))")
            }
        case (.list(let type), .array(let elements)):
            for (index, element) in elements.enumerated() { try check(element, type, path: "\(path)[\(index)]") }
        case (.object(let fields), .object(let members)):
            try checkObject(members, fields, path: path)
        default:
            throw violation(path, "is \(value.kindName); the contract says \(type.description)")
        }
    }

    private mutating func checkObject(
        _ members: [JSONMember],
        _ fields: [ContractField],
        path: String
    ) throws(Problem) {
        for field in fields {
            let value = members.first { $0.name.utf8.elementsEqual(field.name.utf8) }?.value
            if value == nil && !field.type.isOptional {
                throw violation("\(path).\(field.name)", "is missing; the contract says \(field.type.description)")
            }
        }
        // In the order in which they stand, so that replacements are in order too.
        for member in members {
            let place = "\(path).\(member.name)"
            if let field = fields.first(where: { $0.name.utf8.elementsEqual(member.name.utf8) }) {
                try check(member.value, field.type, path: place)
            } else {
                warnings.append("unknown_key:" + place)
            }
        }
    }

    /// `JSONDecoder` takes `1.0` and `1e2` for an `Int`, too.
    private func checkInteger(_ digits: String, path: String) throws(Problem) {
        if Int64(digits) != nil { return }
        let isWritten = digits.utf8.allSatisfy { $0 != 0x2E && $0 | 0x20 != 0x65 }  // without . and e
        if isWritten { throw violation(path, "does not fit Swift's Int") }
        guard let value = Double(digits), Int64(exactly: value) != nil else {
            throw violation(path, "is no whole number; the contract says int")
        }
    }

    private func checkDouble(_ digits: String, path: String) throws(Problem) {
        guard let value = Double(digits), value.isFinite else { throw violation(path, "is too big for a Double") }
    }

    private func checkDate(_ digits: String, path: String) throws(Problem) {
        guard let seconds = Double(digits), seconds.isFinite else { throw violation(path, "is too big for a date") }
        guard let unit = ReferenceDate.unitThatWasMeant(by: seconds) else { return }
        throw Problem(
            .contractViolation,
            "\(path) reads as \(unit): a phone would show the year \(ReferenceDate.year(of: seconds))",
            field: path,
            hint: "Dates in a content state are seconds since 2001-01-01: UNIX seconds minus 978307200."
        )
    }

    private mutating func convert(_ text: String, at value: JSONValue, path: String) throws(Problem) {
        guard let time = Timestamp(text) else { throw violation(path, "is neither a number nor an RFC 3339 time") }
        edits.append((value.raw.startIndex..<value.raw.endIndex, ReferenceDate.seconds(of: time)))
    }

    private func textInsteadOfDate(_ text: String, path: String) -> Problem {
        let hint =
            Timestamp(text).map {
                "Send \(ReferenceDate.seconds(of: $0)), or let the contract say {\"date\":\"convert\"}."
            }
            ?? "Send the seconds since 2001-01-01T00:00:00Z."
        return Problem(
            .contractViolation,
            "\(path) is a string; phones decode a date from a number of seconds since 2001",
            field: path,
            hint: hint
        )
    }

    private func violation(_ path: String, _ what: String) -> Problem {
        Problem(.contractViolation, "\(path) \(what)", field: path)
    }
}
