import Crypto

/// Where and why a content state would not decode.
struct DecodingFault: Error, Equatable {
    let path: String
    let reason: String
}

extension PhoneContract {
    /// Checks a content state as the app's `ContentState` would be decoded. Unknown members are ignored.
    func decode(_ json: JSONText) throws(DecodingFault) { try Self.decode(json, as: shape, path: "") }

    private static func decode(_ json: JSONText, as shape: Shape, path: String) throws(DecodingFault) {
        switch shape {
        case .optional(let wrapped):
            if !json.isNull { try decode(json, as: wrapped, path: path) }
        case .structure(let members):
            guard json.members != nil else { throw mismatch(json, "an object", path) }
            for member in members { try decode(member, of: json, path: path) }
        case .list(let element):
            guard let elements = json.array else { throw mismatch(json, "a list", path) }
            for (index, value) in elements.enumerated() { try decode(value, as: element, path: "\(path)[\(index)]") }
        case .choice(let choices):
            guard let text = json.string else { throw mismatch(json, "a string", path) }
            guard choices.contains(text) else { throw DecodingFault(path: path, reason: "no case of the enum") }
        case .string, .int, .double, .bool, .date, .url, .uuid, .data:
            try decode(json, asSimple: shape, path: path)
        }
    }

    private static func decode(_ member: Member, of json: JSONText, path: String) throws(DecodingFault) {
        let memberPath = path.isEmpty ? member.name : "\(path).\(member.name)"
        if let value = json[member.name] {
            try decode(value, as: member.shape, path: memberPath)
            return
        }
        guard case .optional = member.shape else { throw DecodingFault(path: memberPath, reason: "missing") }
    }

    private static func decode(_ json: JSONText, asSimple shape: Shape, path: String) throws(DecodingFault) {
        switch shape {
        case .bool where json.bool == nil: throw mismatch(json, "a boolean", path)
        case .int where json.integer == nil: throw mismatch(json, "a whole number of 64 bits", path)
        case .double where json.double == nil, .date where json.double == nil: throw mismatch(json, "a number", path)
        case .string where json.string == nil: throw mismatch(json, "a string", path)
        case .url where json.string?.isEmpty ?? true: throw mismatch(json, "a URL", path)
        case .uuid where !isUUID(json.string): throw mismatch(json, "a UUID", path)
        case .data where json.string.flatMap({ Base64.decode($0) }) == nil: throw mismatch(json, "base64", path)
        default: break
        }
    }

    private static func isUUID(_ text: String?) -> Bool {
        text.map { CanonicalUUID.isUUID($0, lowerCaseOnly: false) } ?? false
    }

    private static func mismatch(_ json: JSONText, _ wanted: String, _ path: String) -> DecodingFault {
        DecodingFault(path: path, reason: "needs \(wanted), is \(json.noun)")
    }
}
