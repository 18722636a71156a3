internal import Executables

/// Posts a match's events in the order of play, each after the one before was answered.
struct Feed: Sendable {
    let api: APIClient
    let pace: Pace

    /// What the service said to one event.
    struct Answer: Decodable, Sendable {
        let status: String
        let version: Int?
        let reason: String?
    }

    /// What became of a match's events.
    struct Report: Equatable, Sendable {
        var accepted = 0
        var superseded = 0
        var ignored = 0
        /// The highest version that was answered.
        var version = 0

        mutating func count(_ answer: Answer) {
            switch answer.status {
            case "superseded": superseded += 1
            case "ignored": ignored += 1
            default: accepted += 1
            }
            version = max(version, answer.version ?? 0)
        }
    }

    /// Plays all of `script`.
    ///
    /// `happened` is told of each event, after it was answered; the next one waits until it returns.
    func play(
        _ script: MatchScript,
        match: String,
        happened: @Sendable (MatchScript.Step, Answer) async -> Void = { _, _ in }
    ) async throws(Failure) -> Report {
        var report = Report()
        let start = ContinuousClock.now
        for index in script.steps.indices {
            let step = script.steps[index]
            let due = start + pace.due(minutes: step.elapsedMinutes)
            if due > .now { try? await Task.sleep(until: due, clock: .continuous) }
            let path = "/v1/matches/\(ServiceURL.segment(match))/events"
            let answer: Answer = try await api.send("POST", path, script.eventBody(at: index)).decode()
            report.count(answer)
            await happened(step, answer)
        }
        return report
    }
}
