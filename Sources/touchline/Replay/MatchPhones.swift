internal import Core
internal import Crypto
internal import Executables

/// The phones that follow one match in one environment: some on its channel, the others each with an update token.
struct MatchPhones: Sendable {
    let match: String
    let environment: String
    /// The phones on the channel; 0 without one.
    let onChannel: Int
    let channel: String?
    let tokens: [Token]

    struct Token: Sendable {
        let hex: String
        let isFrequent: Bool
    }

    var count: Int { onChannel + tokens.count }

    private struct ChannelAnswer: Decodable { let channel_id: String }
    private struct LineAnswer: Decodable {
        let status: String
        let code: String?
    }

    /// Registers phones with the simulator, and their tokens with the service.
    ///
    /// - Parameters:
    ///   - count: Half of them go on the channel where there is one, the rest on tokens, every second one `frequent`.
    ///   - match: It exists already.
    ///   - environment: `sandbox` or `production`.
    ///   - api: With a key of the role `app`, or `admin`.
    ///   - simulator: Where the phones are.
    /// - Returns: The phones.
    /// - Throws: ``Failure`` when one of them could not be registered.
    static func register(
        _ count: Int,
        match: String,
        environment: String,
        api: APIClient,
        simulator: SimulatorClient
    ) async throws(Failure) -> MatchPhones {
        let channel = try await channel(of: match, environment: environment, api: api)
        let onChannel = channel == nil ? 0 : (count + 1) / 2
        let tokens = (0..<(count - onChannel)).map { index in
            Token(hex: Hex.encode(SecureRandom.bytes(32)), isFrequent: index.isMultiple(of: 2))
        }
        if let channel, onChannel > 0 {
            try await simulator.register(
                channel: channel,
                count: onChannel,
                environment: environment,
                contract: ScoreState.contract
            )
        }
        try await simulator.register(
            tokens: tokens.map(\.hex),
            environment: environment,
            contract: ScoreState.contract
        )
        try await store(tokens, match: match, environment: environment, api: api)
        return MatchPhones(
            match: match,
            environment: environment,
            onChannel: onChannel,
            channel: channel,
            tokens: tokens
        )
    }

    /// Tells the service of update tokens, 1,000 lines a call.
    static func store(
        _ tokens: [Token],
        match: String,
        environment: String,
        api: APIClient
    ) async throws(Failure) {
        for start in stride(from: 0, to: tokens.count, by: 1_000) {
            let lines = tokens[start..<min(start + 1_000, tokens.count)].map { token -> JSONOutput in
                [
                    "activity": .string("activity-\(token.hex.prefix(16))"), "token": .string(token.hex),
                    "environment": .string(environment), "frequent_pushes_enabled": .bool(token.isFrequent),
                ]
            }
            let path = "/v1/matches/\(ServiceURL.segment(match))/activities"
            let answer = try await api.send("POST", path, lines: lines)
            try check(answer, count: lines.count)
        }
    }

    private static func check(_ answer: APIClient.Answer, count: Int) throws(Failure) {
        var stored = 0
        for line in answer.body.split(separator: UInt8(ascii: "\n")) {
            let line: LineAnswer = try APIClient.Answer(status: answer.status, body: Array(line)).decode()
            guard line.status == "stored" else {
                throw Failure(.failed, "an update token was refused: \(line.code ?? line.status)")
            }
            stored += 1
        }
        guard stored == count else { throw Failure(.failed, "\(stored) of \(count) update tokens were stored") }
    }

    /// The match's channel, once it is open; nil when the match is to have none.
    private static func channel(
        of match: String,
        environment: String,
        api: APIClient
    ) async throws(Failure) -> String? {
        let path =
            "/v1/matches/\(ServiceURL.segment(match))/channel?environment=\(environment)"
            + "&frequent_pushes_enabled=true"
        let end = ContinuousClock.now + .seconds(60)
        while true {
            do throws(Failure) {
                let answer: ChannelAnswer = try await api.send("GET", path).decode()
                return answer.channel_id
            } catch {
                if error.code == "no_channel" { return nil }
                guard error.code == "channel_pending", ContinuousClock.now < end else { throw error }
                try? await Task.sleep(for: .milliseconds(100))
            }
        }
    }
}
