import Crypto

/// The content state that an app on a phone expects, as Swift's default `JSONDecoder` would decode it.
///
/// Written as JSON: `{"home":"int","scorer":"string?","phase":{"enum":["first","full"]},"cards":[{"minute":"int"}]}`. Types
/// are `string int double bool date url uuid data`, optional with `?` behind; `[…]` is a list of one kind of element,
/// `{"enum":[…]}` one of some strings, `{"optional":…}` any type that may be missing, another object a nested structure.
final class PhoneContract {
    indirect enum Shape: Equatable {
        case string, int, double, bool, date, url, uuid, data
        case choice([String])
        case list(Shape)
        case structure([Member])
        case optional(Shape)
    }

    struct Member: Equatable {
        let name: String
        let shape: Shape
    }

    let shape: Shape
    /// The text that it was read from: equal texts are one contract.
    let text: [UInt8]

    /// - Throws: What is wrong with the contract, with the path.
    init(_ json: JSONText, text: [UInt8]) throws(ControlError) {
        guard let members = json.members else { throw ControlError("must be an object", field: "content_state") }
        shape = try Self.structure(members, path: "content_state")
        self.text = text
    }

    private static func shape(_ json: JSONText, path: String) throws(ControlError) -> Shape {
        switch json.kind {
        case .string(let name): return try simple(name, path: path)
        case .array(let elements):
            guard elements.count == 1 else {
                throw ControlError("a list holds the type of its elements, once", field: path)
            }
            return .list(try shape(elements[0], path: path + "[]"))
        case .object(let members):
            if members.count == 1, let special = try special(members[0].name, members[0].value, path: path) {
                return special
            }
            return try structure(members, path: path)
        default: throw ControlError("must be the name of a type, a list or an object", field: path)
        }
    }

    private static func simple(_ text: String, path: String) throws(ControlError) -> Shape {
        let isOptional = text.hasSuffix("?")
        let shape: Shape
        switch isOptional ? String(text.dropLast()) : text {
        case "string": shape = .string
        case "int": shape = .int
        case "double": shape = .double
        case "bool": shape = .bool
        case "date": shape = .date
        case "url": shape = .url
        case "uuid": shape = .uuid
        case "data": shape = .data
        default: throw ControlError("\"\(text)\" is no type", field: path)
        }
        return isOptional ? .optional(shape) : shape
    }

    private static func structure(_ members: [(name: String, value: JSONText)], path: String) throws(ControlError)
        -> Shape
    {
        var shapes: [Member] = []
        for (name, value) in members {
            shapes.append(Member(name: name, shape: try shape(value, path: "\(path).\(name)")))
        }
        return .structure(shapes)
    }

    /// `{"enum":[…]}`, `{"optional":…}` and `{"date":"convert"}`; what the phone decodes for the last is a number.
    private static func special(_ name: String, _ value: JSONText, path: String) throws(ControlError) -> Shape? {
        switch (name, value.kind) {
        case ("enum", .array(let choices)):
            let texts = choices.compactMap(\.string)
            guard !texts.isEmpty, texts.count == choices.count else {
                throw ControlError("an enum lists its strings", field: path)
            }
            return .choice(texts)
        case ("optional", _): return .optional(try shape(value, path: "\(path).optional"))
        case ("date", .string("convert")): return .date
        default: return nil
        }
    }
}
