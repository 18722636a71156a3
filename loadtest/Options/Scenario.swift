internal import Core
internal import Executables

/// A file that says what a test does: settings under the names of the options, and what the simulator does wrong.
///
/// `{"name","about","test","options":{"pushes":1000,…},"faults":{"rules":[…]}}`, of which only `about` and `test` must be
/// there. What is typed on the command line wins over the file.
struct Scenario: Sendable {
    let name: String
    let about: String
    /// The command that runs it: `path`.
    let test: String
    /// By the options' names, with their dashes.
    let settings: [String: String]
    let faults: FaultPlan?
    /// The file as it stands.
    let text: [UInt8]

    /// Reads and checks a file.
    ///
    /// - Parameters:
    ///   - bytes: The file.
    ///   - source: What it is called in a message.
    /// - Throws: ``Failure`` of the kind `wrongUse`, naming what is wrong and where.
    init(_ bytes: [UInt8], source: String) throws(Failure) {
        let root = try Self.json(bytes, source)
        let members = try Self.members(root, ["name", "about", "test", "options", "faults"], "", source)
        about = try Self.string(members["about"], "about", source) ?? ""
        name = try Self.string(members["name"], "name", source) ?? source
        guard !about.isEmpty else { throw Self.wrong("about", "a sentence is missing", source) }
        guard let test = try Self.string(members["test"], "test", source) else {
            throw Self.wrong("test", "missing: it names the command, such as “pool”", source)
        }
        let tests = Command.all.filter { $0.options.contains { $0.name == "--scenario" } }
        guard let command = tests.first(where: { $0.name == test }) else {
            throw Self.wrong(
                "test",
                "“\(test)” is no test; there are \(tests.map(\.name).joined(separator: ", "))",
                source
            )
        }
        self.test = test
        settings = try Self.settings(members["options"], of: command, source)
        faults = try members["faults"].map { value throws(Failure) in
            try FaultPlan(value, source: source, path: "faults")
        }
        text = bytes
    }

    /// Options that a file may not set: they say where results go, or which file this is.
    private static let typedOnly = ["--scenario", "--faults", "--json", "--report", "--quiet"]

    private static func settings(
        _ value: JSONValue?,
        of command: Command,
        _ source: String
    ) throws(Failure) -> [String: String] {
        guard let value else { return [:] }
        guard case .object(let members) = value.content else { throw wrong("options", "must be an object", source) }
        let known = command.options.map(\.name).filter { !typedOnly.contains($0) }
        var settings: [String: String] = [:]
        for member in members {
            let option = "--" + member.name
            guard known.contains(option) else {
                let near = Suggestion.nearest(to: option, among: known).map { ": did you mean “\($0.dropFirst(2))”?" }
                throw wrong("options.\(member.name)", "“\(command.name)” has no such option\(near ?? "")", source)
            }
            switch member.value.content {
            case .number(let digits): settings[option] = digits
            case .string(let text): settings[option] = text
            case .bool(true): settings[option] = ""
            case .bool(false): continue
            case .null, .array, .object:
                throw wrong("options.\(member.name)", "must be a number, a text or true", source)
            }
        }
        return settings
    }

    // MARK: - Finding one

    /// The invocation with the settings of its `--scenario`, where it has one.
    static func applied(to invocation: Invocation) throws(Failure) -> Invocation {
        guard let scenario = try named(in: invocation) else { return invocation }
        guard scenario.test == invocation.command.name else {
            throw Failure(
                .wrongUse,
                "scenario “\(scenario.name)” is one of “\(scenario.test)”",
                hint: "Try: loadtest \(scenario.test) --scenario \(invocation.value("--scenario") ?? "")"
            )
        }
        return invocation.withDefaults(scenario.settings)
    }

    static func named(in invocation: Invocation) throws(Failure) -> Scenario? {
        try invocation.value("--scenario").map { name throws(Failure) in try find(name) }
    }

    /// A scenario by its name, or from a file.
    static func find(_ name: String) throws(Failure) -> Scenario {
        if let bytes = builtIn[name] { return try Scenario(bytes, source: name) }
        if name.contains("/") || name.hasSuffix(".json") { return try Scenario(try File.read(name), source: name) }
        let near = Suggestion.nearest(to: name, among: Array(builtIn.keys))
        throw Failure(
            .wrongUse,
            "there is no scenario “\(name)”",
            hint: near.map { "Did you mean “\($0)”?" }
                ?? "`loadtest scenarios` lists them; a file is named with its folder."
        )
    }

    /// Compiled in, so that they are there wherever the executable stands.
    static let builtIn: [String: [UInt8]] = [
        "kick-off": PackageResources.kick_off_json,
        "saturday": PackageResources.saturday_json,
        "world-cup-final": PackageResources.world_cup_final_json,
        "throttling": PackageResources.throttling_json,
        "draining": PackageResources.draining_json,
        "mixed-faults": PackageResources.mixed_faults_json,
    ]

    // MARK: - Reading

    static func json(_ bytes: [UInt8], _ source: String) throws(Failure) -> JSONValue {
        do throws(Problem) {
            return try JSONScanner.decode(bytes)
        } catch {
            throw Failure(.wrongUse, "\(source) is not JSON: \(error.detail)")
        }
    }

    static func members(
        _ value: JSONValue,
        _ known: [String],
        _ path: String,
        _ source: String
    ) throws(Failure) -> [String: JSONValue] {
        guard case .object(let members) = value.content else { throw wrong(path, "must be an object", source) }
        for member in members where !known.contains(member.name) {
            let at = path.isEmpty ? member.name : "\(path).\(member.name)"
            let near = Suggestion.nearest(to: member.name, among: known).map { ", did you mean “\($0)”?" } ?? ""
            throw wrong(at, "unknown; known are \(known.joined(separator: ", "))\(near)", source)
        }
        return Dictionary(members.map { ($0.name, $0.value) }) { first, _ in first }
    }

    private static func string(_ value: JSONValue?, _ path: String, _ source: String) throws(Failure) -> String? {
        guard let value else { return nil }
        guard case .string(let text) = value.content else { throw wrong(path, "must be a text", source) }
        return text
    }

    static func wrong(_ path: String, _ what: String, _ source: String) -> Failure {
        Failure(.wrongUse, "\(source): \(path.isEmpty ? "" : path + ": ")\(what)")
    }
}
