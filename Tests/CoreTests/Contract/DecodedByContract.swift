import Core
import Foundation

/// A type of a contract, made at run time beside the text of the contract that says it.
indirect enum Shape: Sendable {
    case string, int, double, bool, date, url, uuid, data
    case choice([String])
    case list(Shape)
    case optional(Shape)
    case object([(name: String, shape: Shape)])

    /// As the contract says it.
    var contract: String {
        switch self {
        case .string: #""string""#
        case .int: #""int""#
        case .double: #""double""#
        case .bool: #""bool""#
        case .date: #""date""#
        case .url: #""url""#
        case .uuid: #""uuid""#
        case .data: #""data""#
        case .choice(let choices): #"{"enum":[\#(choices.map(Self.quote).joined(separator: ","))]}"#
        case .list(let shape): "[\(shape.contract)]"
        case .optional(let shape): #"{"optional":\#(shape.contract)}"#
        case .object(let fields):
            "{\(fields.map { "\(Self.quote($0.name)):\($0.shape.contract)" }.joined(separator: ","))}"
        }
    }

    /// The type that a Swift programmer would declare for it.
    var swiftType: any Decodable.Type {
        switch self {
        case .string: String.self
        case .int: Int.self
        case .double: Double.self
        case .bool: Bool.self
        case .date: Date.self
        case .url: URL.self
        case .uuid: UUID.self
        case .data: Data.self
        case .choice: DecodedChoice.self
        case .list(let shape): Self.list(of: shape.swiftType)
        case .optional(let shape): Self.optional(shape.swiftType)
        case .object: DecodedObject.self
        }
    }

    /// What stands at `path`, behind the elements of lists and the values of optionals too.
    func at(_ path: some Collection<any CodingKey>) -> Shape? {
        switch self {
        case .optional(let shape): return shape.at(path)
        case .list(let shape):
            guard let step = path.first, step.intValue != nil else { return path.isEmpty ? self : nil }
            return shape.at(path.dropFirst())
        case .object(let fields):
            guard let step = path.first else { return self }
            return fields.first { $0.name == step.stringValue }?.shape.at(path.dropFirst())
        default: return path.isEmpty ? self : nil
        }
    }

    static func quote(_ text: String) -> String {
        let escaped = text.unicodeScalars.map { scalar in
            switch scalar {
            case "\"", "\\": "\\\(scalar)"
            case "\n": "\\n"
            case "\t": "\\t"
            default: String(scalar)
            }
        }
        return "\"\(escaped.joined())\""
    }

    private static func list<Element: Decodable>(of type: Element.Type) -> any Decodable.Type { [Element].self }
    private static func optional<Wrapped: Decodable>(_ type: Wrapped.Type) -> any Decodable.Type { Wrapped?.self }
}

extension CodingUserInfoKey {
    /// The whole content state's ``Shape``.
    static let shape = CodingUserInfoKey(rawValue: "shape")!
}

/// Asks its decoder what the compiler's own `init(from:)` of a struct of these fields would ask, in the same order.
struct DecodedObject: Decodable {
    init(from decoder: any Decoder) throws {
        guard let root = decoder.userInfo[.shape] as? Shape, case .object(let fields) = root.at(decoder.codingPath)
        else {
            preconditionFailure("there is no object at \(decoder.codingPath)")
        }
        let container = try decoder.container(keyedBy: Name.self)
        for field in fields {
            let key = Name(stringValue: field.name)
            if case .optional(let shape) = field.shape {
                try Self.decodeIfPresent(shape.swiftType, key, container)
            } else {
                try Self.decode(field.shape.swiftType, key, container)
            }
        }
    }

    private static func decode<Value: Decodable>(
        _ type: Value.Type,
        _ key: Name,
        _ container: KeyedDecodingContainer<Name>
    ) throws {
        switch type {
        // The scalars have functions of their own, which the compiler's code calls.
        case is String.Type: _ = try container.decode(String.self, forKey: key)
        case is Int.Type: _ = try container.decode(Int.self, forKey: key)
        case is Double.Type: _ = try container.decode(Double.self, forKey: key)
        case is Bool.Type: _ = try container.decode(Bool.self, forKey: key)
        default: _ = try container.decode(type, forKey: key)
        }
    }

    private static func decodeIfPresent<Value: Decodable>(
        _ type: Value.Type,
        _ key: Name,
        _ container: KeyedDecodingContainer<Name>
    ) throws {
        switch type {
        case is String.Type: _ = try container.decodeIfPresent(String.self, forKey: key)
        case is Int.Type: _ = try container.decodeIfPresent(Int.self, forKey: key)
        case is Double.Type: _ = try container.decodeIfPresent(Double.self, forKey: key)
        case is Bool.Type: _ = try container.decodeIfPresent(Bool.self, forKey: key)
        default: _ = try container.decodeIfPresent(type, forKey: key)
        }
    }

    struct Name: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }
}

/// What the compiler makes of `enum Phase: String, Decodable`: the raw value, compared as Swift compares texts.
struct DecodedChoice: Decodable {
    init(from decoder: any Decoder) throws {
        guard let root = decoder.userInfo[.shape] as? Shape, case .choice(let choices) = root.at(decoder.codingPath)
        else {
            preconditionFailure("there is no choice at \(decoder.codingPath)")
        }
        let text = try decoder.singleValueContainer().decode(String.self)
        guard choices.contains(text) else {
            throw DecodingError.dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: text))
        }
    }
}

/// The verdicts of both sides on one content state.
struct Verdicts {
    /// Nil where it is taken.
    let contract: Problem?
    let decoder: (any Error)?

    init(_ state: String, _ shape: Shape, contract: Contract) {
        do throws(Problem) {
            _ = try contract.check(JSONScanner.decode(Array(state.utf8)), path: "content_state")
            self.contract = nil
        } catch { self.contract = error }
        let decoder = JSONDecoder()
        decoder.userInfo[.shape] = shape
        do {
            _ = try decoder.decode(DecodedObject.self, from: Data(state.utf8))
            self.decoder = nil
        } catch { self.decoder = error }
    }

    var areEqual: Bool { (contract == nil) == (decoder == nil) }
}

extension Verdicts: CustomStringConvertible {
    var description: String {
        "the contract says \(contract?.detail ?? "yes"), the decoder \(decoder.map { "\($0)" } ?? "yes")"
    }
}
