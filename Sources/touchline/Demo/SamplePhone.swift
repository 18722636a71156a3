internal import Executables

/// Two phones of the demo that are looked at after each goal: one on the channel, one on an update token.
struct SamplePhone: Sendable {
    let simulator: SimulatorClient
    private let channel: String?
    private let token: String?

    init(simulator: SimulatorClient, phones: [MatchPhones]) {
        self.simulator = simulator
        channel = phones.first { $0.onChannel > 0 }?.channel
        token = phones.flatMap(\.tokens).first(where: \.isFrequent)?.hex
    }

    /// Waits until they show `state`, and says how long that took: `4 ms` and `7 ms`.
    func landing(of state: ScoreState) async -> (onChannel: String, onToken: String) {
        let start = ContinuousClock.now
        async let onChannel = wait(for: state, since: start) { () async throws(Failure) in
            guard let channel else { return nil }
            return try await simulator.phones(channel: channel).first
        }
        async let onToken = wait(for: state, since: start) { () async throws(Failure) in
            guard let token else { return nil }
            return try await simulator.phone(token: token)
        }
        return await (onChannel, onToken)
    }

    private func wait(
        for state: ScoreState,
        since start: ContinuousClock.Instant,
        look: @Sendable () async throws(Failure) -> SimulatorClient.Phone?
    ) async -> String {
        let end = start + .seconds(3)
        while ContinuousClock.now < end {
            guard let phone = try? await look() else { return "–" }
            if let shows = phone.shows, shows.home == state.home, shows.away == state.away,
                shows.phase == state.phase.rawValue, shows.home_penalties == state.homePenalties,
                shows.away_penalties == state.awayPenalties
            {
                return "\(max(1, Int((ContinuousClock.now - start) / .milliseconds(1)))) ms"
            }
            try? await Task.sleep(for: .milliseconds(2))
        }
        return "later"
    }
}
