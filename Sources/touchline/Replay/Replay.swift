internal import Core
internal import Executables

/// Plays many matches at once through the API, as a feed would, and checks what phones show in the end.
struct Replay: Sendable {
    /// One match of a file.
    struct Entry: Sendable {
        /// File stem, `/`, place in the file from 1.
        let id: String
        let script: MatchScript
    }

    /// How one match ended.
    struct Outcome: Sendable {
        let entry: Entry
        let report: Feed.Report
        /// Versions that no phone was sent, since a newer one came first.
        let merged: Int
        let phones: Int
        let right: Int
        let failure: Failure?
    }

    let api: APIClient
    let simulator: SimulatorClient?
    let bundle: String
    let environment: String
    let pace: Pace
    let phonesPerMatch: Int
    /// RFC 3339.
    let kickoff: String
    /// How many matches are played at the same time.
    let matchesAtOnce: Int

    /// Plays all entries, and tells `progress` how many are done.
    func run(_ entries: [Entry], progress: @escaping @Sendable (Int) -> Void) async -> [Outcome] {
        let slots = Slots(matchesAtOnce)
        return await withTaskGroup(of: (Int, Outcome).self) { group in
            for (index, entry) in entries.enumerated() {
                group.addTask { (index, await play(entry, slots: slots)) }
            }
            var outcomes: [(Int, Outcome)] = []
            for await outcome in group {
                outcomes.append(outcome)
                progress(outcomes.count)
            }
            return outcomes.sorted { $0.0 < $1.0 }.map(\.1)
        }
    }

    private func play(_ entry: Entry, slots: Slots) async -> Outcome {
        do throws(Failure) {
            let (phones, report) = try await slots.run { () async throws(Failure) in try await feed(entry) }
            // Outside the slot: an end is held for seconds, and the next match need not wait for that.
            var right = 0
            if let phones, let simulator {
                right = try await PhoneCheck(simulator: simulator).countRight(phones, final: entry.script.final)
            }
            return Outcome(
                entry: entry,
                report: report,
                merged: try await merged(entry.id),
                phones: phones?.count ?? 0,
                right: right,
                failure: nil
            )
        } catch {
            return Outcome(
                entry: entry,
                report: Feed.Report(),
                merged: 0,
                phones: simulator == nil ? 0 : phonesPerMatch,
                right: 0,
                failure: error
            )
        }
    }

    private func feed(_ entry: Entry) async throws(Failure) -> (MatchPhones?, Feed.Report) {
        try await ScoreMatch.put(
            entry.id,
            script: entry.script,
            bundle: bundle,
            kickoff: kickoff,
            api: api
        )
        var phones: MatchPhones?
        if let simulator {
            phones = try await MatchPhones.register(
                phonesPerMatch,
                match: entry.id,
                environment: environment,
                api: api,
                simulator: simulator
            )
        }
        return (phones, try await Feed(api: api, pace: pace).play(entry.script, match: entry.id))
    }

    private struct Deliveries: Decodable { let merged_versions: Int? }

    private func merged(_ match: String) async throws(Failure) -> Int {
        let path = "/v1/matches/\(ServiceURL.segment(match))/deliveries"
        let deliveries: Deliveries = try await api.send("GET", path).decode()
        return deliveries.merged_versions ?? 0
    }
}

/// A match whose phones show ``ScoreState``.
enum ScoreMatch {
    static let type = "ScoreAttributes"

    /// Declares the type with its contract.
    static func putType(bundle: String, api: APIClient) async throws(Failure) {
        _ = try await api.send(
            "PUT",
            "/v1/apps/\(ServiceURL.segment(bundle))/types/\(type)",
            ["content_state": ScoreState.contract]
        )
    }

    /// Makes the match, with the state before its kick-off.
    static func put(
        _ match: String,
        script: MatchScript,
        bundle: String,
        kickoff: String,
        api: APIClient
    ) async throws(Failure) {
        let body: JSONOutput = [
            "bundle": .string(bundle), "type": .string(type), "kickoff_at": .string(kickoff),
            "content_state": script.before.json,
        ]
        _ = try await api.send("PUT", "/v1/matches/\(ServiceURL.segment(match))", body)
    }
}
