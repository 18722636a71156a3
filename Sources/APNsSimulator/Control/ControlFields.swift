/// Reads members of the control API's bodies, with a clear refusal of what does not fit.
enum ControlFields {
    /// - Throws: When the value is no object, or has a member of another name.
    static func require(_ json: JSONText, only names: [String], path: String) throws(ControlError) {
        guard let members = json.members else {
            throw ControlError("must be an object, is \(json.noun)", field: path.isEmpty ? nil : path)
        }
        for (name, _) in members where !names.contains(name) {
            throw ControlError("unknown; known are \(names.joined(separator: ", "))", field: child(path, name))
        }
    }

    static func string(_ json: JSONText, _ name: String, path: String) throws(ControlError) -> String? {
        guard let value = json[name], !value.isNull else { return nil }
        guard let text = value.string else {
            throw ControlError("must be a string, is \(value.noun)", field: child(path, name))
        }
        return text
    }

    /// A string, or a number taken as text.
    static func text(_ json: JSONText, _ name: String, path: String) throws(ControlError) -> String? {
        if case .number(let digits) = json[name]?.kind { return digits }
        return try string(json, name, path: path)
    }

    /// A whole number from 0.
    static func count(_ json: JSONText, _ name: String, path: String) throws(ControlError) -> Int? {
        guard let value = json[name], !value.isNull else { return nil }
        guard let number = value.integer, let count = Int(exactly: number), count >= 0 else {
            throw ControlError("must be a whole number from 0", field: child(path, name))
        }
        return count
    }

    static func bool(_ json: JSONText, _ name: String, path: String) throws(ControlError) -> Bool? {
        guard let value = json[name], !value.isNull else { return nil }
        guard let flag = value.bool else { throw ControlError("must be true or false", field: child(path, name)) }
        return flag
    }

    static func environment(_ json: JSONText, path: String = "") throws(ControlError) -> SimulatedEnvironment? {
        guard let text = try string(json, "environment", path: path) else { return nil }
        guard let environment = SimulatedEnvironment(rawValue: text) else {
            throw ControlError("must be sandbox or production", field: child(path, "environment"))
        }
        return environment
    }

    private static func child(_ path: String, _ name: String) -> String { path.isEmpty ? name : "\(path).\(name)" }
}
