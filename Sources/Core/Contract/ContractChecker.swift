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
        case (.double, .number(let digits)): _ = try checkDouble(digits, path: path)
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
            // By Swift's equality, as an enum's raw values are found: both ways of writing é are one.
            guard choices.contains(text) else {
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
        // Names by Swift's equality, as coding keys are found; the first of several wins.
        var found = Set<String>()
        // In the order in which they stand, so that replacements are in order too.
        for member in members {
            let place = "\(path).\(member.name)"
            if let field = fields.first(where: { $0.name == member.name }), found.insert(field.name).inserted {
                try check(member.value, field.type, path: place)
            } else {
                warnings.append("unknown_key:" + place)
            }
        }
        if let missing = fields.first(where: { !$0.type.isOptional && !found.contains($0.name) }) {
            let place = "\(path).\(missing.name)"
            throw violation(place, "is missing; the contract says \(missing.type.description)")
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
        // Where a Double has gaps, the decoder reads a Decimal, with edges of its own.
        guard value.magnitude < 9_007_199_254_740_992 || Self.decodes(digits, as: Int.self) else {
            throw violation(path, "is no whole number that phones can read; the contract says int")
        }
    }

    private func checkDouble(_ digits: String, path: String) throws(Problem) -> Double {
        guard let value = Double(digits), value.isFinite else { throw violation(path, "is too big for a Double") }
        // A number that is too small is refused, and so is a zero with an exponent, at times.
        guard value != 0 || digits.utf8.allSatisfy({ $0 | 0x20 != 0x65 }) || Self.decodes(digits, as: Double.self)
        else {
            throw violation(path, "is too near to zero for a Double; write 0")
        }
        return value
    }

    /// Asks the decoder itself: for the few numbers about which it has ideas of its own.
    private static func decodes<Number: Decodable>(_ digits: String, as type: Number.Type) -> Bool {
        (try? JSONDecoder().decode([Number].self, from: Data("[\(digits)]".utf8))) != nil
    }

    private func checkDate(_ digits: String, path: String) throws(Problem) {
        let seconds = try checkDouble(digits, path: path)
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
