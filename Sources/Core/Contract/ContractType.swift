/// The type of one field of a content state, in the words of Swift's `Codable`.
package indirect enum ContractType: Equatable, Sendable {
    case string
    case int
    case double
    case bool
    /// Seconds since 2001; with `convertsText`, RFC 3339 is taken and converted.
    case date(convertsText: Bool)
    case url
    case uuid
    case data
    case choice([String])
    case list(ContractType)
    case object([ContractField])
    case optional(ContractType)
}

/// One named field.
package struct ContractField: Equatable, Sendable {
    package let name: String
    package let type: ContractType
}

extension ContractType {
    package var isOptional: Bool {
        if case .optional = self { true } else { false }
    }

    /// As a problem names it.
    package var description: String {
        switch self {
        case .string: "a string"
        case .int: "a whole number"
        case .double: "a number"
        case .bool: "true or false"
        case .date: "a number of seconds since 2001"
        case .url: "the text of a URL"
        case .uuid: "the text of a UUID"
        case .data: "base64 text"
        case .choice(let values): "one of \(values.joined(separator: ", "))"
        case .list: "a list"
        case .object: "an object"
        case .optional(let type): type.description
        }
    }
}

extension ContractType {
    /// Reads a type of a contract.
    ///
    /// A text names a scalar, with `?` behind it an optional one; `[type]` is a list; an object is an object, unless
    /// its only member is `"enum": [texts]`, `"date": "convert"` or `"optional": type`.
    init(_ json: JSONValue, path: String) throws(Problem) {
        switch json.content {
        case .string(let name):
            self = try Self.named(name, path: path)
        case .array(let elements):
            guard elements.count == 1, let element = elements.first else {
                throw Problem(.invalidField, "\(path) must hold the one type of the list's elements", field: path)
            }
            self = .list(try ContractType(element, path: path + "[0]"))
        case .object(let members):
            if members.count == 1, let member = members.first, let type = try Self.special(member, path: path) {
                self = type
            } else {
                self = .object(try Self.fields(members, path: path))
            }
        case .null, .bool, .number:
            throw Problem(.invalidField, "\(path) is \(json.kindName), not a type", field: path, hint: Self.hint)
        }
    }

    static func fields(_ members: [JSONMember], path: String) throws(Problem) -> [ContractField] {
        var fields: [ContractField] = []
        for member in members {
            let place = "\(path).\(member.name)"
            if member.name.hasSuffix("?") {
                throw Problem(
                    .invalidField,
                    "\(place): the question mark belongs to the type",
                    field: place,
                    hint: "Write \"\(member.name.dropLast())\":\"int?\", or {\"optional\":type} for lists and objects."
                )
            }
            guard !fields.contains(where: { $0.name == member.name }) else {
                throw Problem(.invalidField, "\(place): Swift cannot tell it from another key", field: place)
            }
            fields.append(ContractField(name: member.name, type: try ContractType(member.value, path: place)))
        }
        return fields
    }

    private static let hint =
        "Types are string, int, double, bool, date, url, uuid, data, each with ? when optional; [type]; an object; "
        + "{\"enum\":[…]}; {\"date\":\"convert\"}; {\"optional\":type}."

    private static func named(_ name: String, path: String) throws(Problem) -> ContractType {
        if name.hasSuffix("?") { return .optional(try named(String(name.dropLast()), path: path)) }
        switch name {
        case "string": return .string
        case "int": return .int
        case "double": return .double
        case "bool": return .bool
        case "date": return .date(convertsText: false)
        case "url": return .url
        case "uuid": return .uuid
        case "data": return .data
        default: throw Problem(.invalidField, "\(path): there is no type \"\(name)\"", field: path, hint: hint)
        }
    }

    private static func special(_ member: JSONMember, path: String) throws(Problem) -> ContractType? {
        switch (member.name, member.value.content) {
        case ("enum", .array(let values)):
            var choices: [String] = []
            for value in values {
                guard case .string(let choice) = value.content else {
                    throw Problem(.invalidField, "\(path).enum must list texts", field: path + ".enum")
                }
                guard !choices.contains(choice) else {
                    throw Problem(.invalidField, "\(path).enum lists \"\(choice)\" twice", field: path + ".enum")
                }
                choices.append(choice)
            }
            guard !choices.isEmpty else { throw Problem(.invalidField, "\(path).enum is empty", field: path + ".enum") }
            return .choice(choices)
        case ("date", .string("convert")):
            return .date(convertsText: true)
        case ("optional", _):
            return .optional(try ContractType(member.value, path: path + ".optional"))
        default:
            return nil
        }
    }
}
