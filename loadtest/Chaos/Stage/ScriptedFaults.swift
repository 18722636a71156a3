internal import Core
internal import Executables
import FoundationEssentials

/// The rules of the simulator that hold just now: those of faults, and the tokens that are no more.
actor ScriptedFaults {
    private let simulator: SimulatorControl
    private var rules: [(number: Int, rule: JSONOutput)] = []
    /// By token: the answer.
    private var tokens: [String: JSONOutput] = [:]
    private var last = 0
    private var telling: Task<Void, Never>?

    /// What APNs answers for a token that it takes no more.
    enum Refusal: Sendable {
        case unregistered, badDeviceToken

        fileprivate var answer: JSONOutput {
            switch self {
            // As of now: an answer that is held up must not take the token from who has registered it since.
            case .unregistered:
                [
                    "status": 410, "reason": "Unregistered",
                    "timestamp": .int(Int(Date.now.timeIntervalSince1970 * 1000)),
                ]
            case .badDeviceToken: ["status": 400, "reason": "BadDeviceToken"]
            }
        }
    }

    init(_ simulator: SimulatorControl) { self.simulator = simulator }

    /// - Returns: What ends the rule.
    func begin(_ rule: JSONOutput) async -> Int {
        last += 1
        rules.append((last, rule))
        let number = last
        await tell()
        return number
    }

    func end(_ number: Int) async {
        rules.removeAll { $0.number == number }
        await tell()
    }

    /// The token is answered so until it is forgiven.
    func refuse(_ token: String, _ refusal: Refusal) async {
        tokens[token] = refusal.answer
        await tell()
    }

    func forgive(_ token: String) async {
        guard tokens.removeValue(forKey: token) != nil else { return }
        await tell()
    }

    /// Ends what faults began. Tokens that are no more stay so.
    func endAll() async {
        rules = []
        await tell()
    }

    func disturb(_ action: JSONOutput) async {
        _ = try? await simulator.api.send("POST", "/_sim/connections", ["do": action])
    }

    /// One after the other: of two at once the older could be the last to arrive, and hold on.
    private func tell() async {
        let before = telling
        let task = Task {
            await before?.value
            await send()
        }
        telling = task
        await task.value
    }

    private func send() async {
        // Tokens first: what settles a request is done by the first rule that matches.
        let all =
            tokens.sorted { $0.key < $1.key }.map { token, answer in
                ["on": ["token": .string(token)], "do": answer] as JSONOutput
            } + rules.map(\.rule)
        let body = (["rules": .array(all)] as JSONOutput).bytes
        try? await simulator.setFaults(body)
    }
}
