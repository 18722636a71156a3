internal import Executables
import FoundationEssentials

/// Runs of `touchline match import`, again where a kill breaks one off.
struct SeasonImports {
    let stage: FleetStage
    let folder: String
    let plan: SeasonPlan
    private(set) var runs = 0
    private(set) var brokenOff = 0

    init(stage: FleetStage, folder: String, plan: SeasonPlan) {
        (self.stage, self.folder, self.plan) = (stage, folder, plan)
    }

    private struct Answer: Decodable { let unchanged: Int }

    /// Imports these lines, however many runs that takes.
    ///
    /// - Returns: How many fixtures the last run found as they were.
    /// - Throws: ``Failure`` when it does not come about within five minutes.
    mutating func run(_ lines: String) async throws(Failure) -> Int {
        let file = "\(folder)/fixtures.jsonl"
        do {
            try lines.write(toFile: file, atomically: true, encoding: .utf8)
        } catch {
            throw Failure(.failed, "cannot write \(file)")
        }
        let end = ContinuousClock.now + .seconds(300)
        var last = ""
        while ContinuousClock.now < end, !Task.isCancelled {
            // It waits for a service that is gone for a minute: a person would try another, sooner.
            let answer = try await stage.touchline(
                ["match", "import", file, "--bundle", FleetStage.bundle, "--json"],
                by: .now + .seconds(20)
            )
            guard let answer else {
                try? await Task.sleep(for: .milliseconds(100))
                continue
            }
            runs += 1
            if answer.isDone, let decoded = try? JSONDecoder().decode(Answer.self, from: Data(answer.output.utf8)) {
                return decoded.unchanged
            }
            brokenOff += 1
            last = answer.output
        }
        throw Failure(.failed, "the fixtures could not be imported: \(last)")
    }
}
