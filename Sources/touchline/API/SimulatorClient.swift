internal import Core
internal import Executables

/// The control API of `apns-simulator`, as far as `replay` and `demo` use it.
struct SimulatorClient: Sendable {
    let api: APIClient

    /// What one registered phone, or a group of them on a channel, shows now.
    struct Phone: Decodable, Sendable {
        let count: Int?
        let shows: Shown?
        let ended: Bool?
        let alerts: Int?
        let pushes: Int?
    }

    /// The part of the content state that decides whether a phone is right.
    struct Shown: Decodable, Equatable, Sendable {
        let home: Int
        let away: Int
        let phase: String
        let clock: String?
        let scorer: String?
        let home_penalties: Int?
        let away_penalties: Int?
    }

    struct Phones: Decodable, Sendable { let phones: [Phone] }

    /// Registers phones by their tokens; `contract` makes them drop what they cannot decode.
    func register(tokens: [String], environment: String, contract: JSONOutput) async throws(Failure) {
        try await register(tokens.map { ["token": .string($0)] }, environment, contract)
    }

    /// Registers `count` phones that listen to a channel.
    func register(channel: String, count: Int, environment: String, contract: JSONOutput) async throws(Failure) {
        try await register([["channel": .string(channel), "count": .int(count)]], environment, contract)
    }

    func phone(token: String) async throws(Failure) -> Phone? {
        try await phones("token=\(ServiceURL.segment(token))").first
    }

    func phones(channel: String) async throws(Failure) -> [Phone] {
        try await phones("channel=\(ServiceURL.segment(channel))")
    }

    private func phones(_ query: String) async throws(Failure) -> [Phone] {
        try await api.send("GET", "/_sim/phones?\(query)").decode(Phones.self).phones
    }

    private func register(_ phones: [JSONOutput], _ environment: String, _ contract: JSONOutput) async throws(Failure) {
        // Groups keep a body far below what the control port takes.
        for start in stride(from: 0, to: phones.count, by: 5_000) {
            let body: JSONOutput = [
                "environment": .string(environment),
                "phones": .array(Array(phones[start..<min(start + 5_000, phones.count)])),
                "content_state": contract,
            ]
            _ = try await api.send("POST", "/_sim/phones", body)
        }
    }
}
