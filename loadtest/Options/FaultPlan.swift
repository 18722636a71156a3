internal import Core
internal import Executables

/// What the simulator does wrong: rules in its control API's form, which checks them once more.
struct FaultPlan: Sendable {
    /// `{"rules":[…]}`.
    let json: [UInt8]
    let count: Int

    private static let verbs = [
        "status", "reset", "goaway", "delay_ms", "silence", "mute", "no_window", "close", "tcp_reset", "half_answer",
        "lost_answer", "stream_limit", "undelivered", "refuse", "tls_failure",
    ]

    /// Those of `--faults`, a scenario or bare rules; else those of `--scenario`.
    init?(_ invocation: Invocation) throws(Failure) {
        if let file = invocation.value("--faults") {
            if let bytes = Scenario.builtIn[file] {
                self = try Self.of(try Scenario(bytes, source: file), file)
                return
            }
            let bytes = try File.read(file)
            let root = try Scenario.json(bytes, file)
            self =
                root.member("rules") != nil
                ? try FaultPlan(root, source: file, path: "") : try Self.of(try Scenario(bytes, source: file), file)
            return
        }
        guard let plan = try Scenario.named(in: invocation)?.faults else { return nil }
        self = plan
    }

    private static func of(_ scenario: Scenario, _ source: String) throws(Failure) -> FaultPlan {
        guard let plan = scenario.faults else { throw Failure(.wrongUse, "\(source) has no faults") }
        return plan
    }

    /// Checks the shape: `{"rules":[{"on":{…},"do":{…}}]}`, one verb each, shares from 0 to 1.
    init(_ value: JSONValue, source: String, path: String) throws(Failure) {
        let prefix = path.isEmpty ? "" : path + "."
        let members = try Scenario.members(value, ["rules"], path, source)
        guard case .array(let rules)? = members["rules"]?.content else {
            throw Scenario.wrong(prefix + "rules", "must be a list", source)
        }
        for (index, rule) in rules.enumerated() {
            let at = "\(prefix)rules[\(index)]"
            let parts = try Scenario.members(rule, ["on", "do"], at, source)
            guard case .object(let actions)? = parts["do"]?.content else {
                throw Scenario.wrong("\(at).do", "must be an object", source)
            }
            guard actions.filter({ Self.verbs.contains($0.name) }).count == 1 else {
                throw Scenario.wrong("\(at).do", "needs exactly one of \(Self.verbs.joined(separator: ", "))", source)
            }
            if let share = parts["on"]?.member("share") {
                guard case .number(let digits) = share.content, let number = Double(digits), (0...1).contains(number)
                else { throw Scenario.wrong("\(at).on.share", "must be a number from 0 to 1", source) }
            }
        }
        json = Array(value.raw)
        count = rules.count
    }
}
