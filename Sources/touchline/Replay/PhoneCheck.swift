internal import Executables

/// Waits until phones show how a match really ended, and counts those that do.
struct PhoneCheck: Sendable {
    let simulator: SimulatorClient
    /// Given up when no further phone became right for so long.
    var patience: Duration = .seconds(30)

    /// - Parameters:
    ///   - phones: Of one match.
    ///   - final: What each has to show, and to show as ended.
    ///   - progress: Told of the number that is right, whenever it was counted.
    /// - Returns: How many phones are right.
    /// - Throws: ``Failure`` when the simulator does not answer.
    func countRight(
        _ phones: MatchPhones,
        final: ScoreState,
        progress: @Sendable (Int) -> Void = { _ in }
    ) async throws(Failure) -> Int {
        var pending = phones.tokens.map(\.hex)[...]
        var rightOnChannel = 0
        var best = -1
        var giveUp = ContinuousClock.now + patience
        while true {
            pending = try await stillWrong(pending, final: final)[...]
            if let channel = phones.channel, rightOnChannel < phones.onChannel {
                let groups = try await simulator.phones(channel: channel)
                rightOnChannel = groups.filter { isRight($0, final) }.reduce(0) { $0 + ($1.count ?? 1) }
            }
            let right = phones.tokens.count - pending.count + min(rightOnChannel, phones.onChannel)
            progress(right)
            if right == phones.count || Task.isCancelled { return right }
            if right > best {
                best = right
                giveUp = .now + patience
            }
            guard ContinuousClock.now < giveUp else { return right }
            try? await Task.sleep(for: .milliseconds(250))
        }
    }

    /// The tokens whose phones do not show the final state yet, or were not asked: after ten wrong ones the rest is
    /// left for the next round, where it comes first.
    private func stillWrong(_ tokens: ArraySlice<String>, final: ScoreState) async throws(Failure) -> [String] {
        var wrong: [String] = []
        var rest = tokens
        while let token = rest.popFirst() {
            if let phone = try await simulator.phone(token: token), isRight(phone, final) { continue }
            wrong.append(token)
            if wrong.count == 10 { break }
        }
        return rest + wrong
    }

    private func isRight(_ phone: SimulatorClient.Phone, _ final: ScoreState) -> Bool {
        guard let shows = phone.shows, phone.ended == true else { return false }
        return shows.home == final.home && shows.away == final.away && shows.phase == final.phase.rawValue
            && shows.home_penalties == final.homePenalties && shows.away_penalties == final.awayPenalties
    }
}
