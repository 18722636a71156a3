import Executables
import Foundation
import Testing

@testable import touchline

@Suite("A replay through the service", .timeLimit(.minutes(10)))
struct ReplayTests {
    /// A goalless match without lists, one with goals out of order, one decided by kicks, one with goals missing.
    private static let cup = #"""
        {"name":"Cup","matches":[
          {"team1":"Ä","team2":"Ñ","score":{"ft":[0,0]}},
          {"team1":"A","team2":"B","score":{"ht":[1,0],"ft":[2,2],"et":[3,2]},
           "goals1":[{"name":"X","minute":"105+1"},{"name":"Y","minute":12},{"name":"Z","minute":90,"offset":4}],
           "goals2":[{"name":"Q","minute":"80","penalty":true},{"name":"Y","minute":"80","owngoal":true}]},
          {"team1":"C","team2":"D","score":{"ft":[1,1],"et":[1,1],"p":[5,6]},
           "goals1":[{"name":"X","minute":3}],"goals2":[{"name":"W","minute":"45+2"}]},
          {"team1":"E","team2":"F","score":{"ht":[0,2],"ft":[1,2]}}
        ]}
        """#

    @Test("leaves every phone with the real result, and does so again")
    func leavesTheResult() async throws {
        let services = try Workplace(in: ProcessInfo.processInfo.environment["TMPDIR"], name: "touchline-replay")
        do {
            let apns = try await services.startSimulator().ready
            let service = try await services.startService(apns).ready
            let script = try #require(MatchScriptWriter.script(of: FinalOf2022.match))
            let stage = try await DemoStage.prepare(service: service, apns: apns, script: script)
            // The second run repeats every event; its phones come when all is over.
            for run in 1...2 { try await replay(on: stage, run: run) }
        } catch {
            await services.stop()
            throw error
        }
        await services.stop()
        #expect(!FileManager.default.fileExists(atPath: services.folder))
    }

    private func replay(on stage: DemoStage, run: Int) async throws {
        let file = try OpenFootballFile(json: Array(Self.cup.utf8))
        let entries = try file.matches.enumerated().map { index, match in
            Replay.Entry(id: "cup/\(index + 1)", script: try #require(MatchScriptWriter.script(of: match)))
        }
        let replay = Replay(
            api: stage.admin,
            simulator: stage.simulator,
            bundle: DemoStage.bundle,
            environment: "sandbox",
            pace: .max,
            phonesPerMatch: 9,
            kickoff: Date.now.formatted(.iso8601),
            matchesAtOnce: 3
        )
        let outcomes = await replay.run(entries) { _ in }
        #expect(outcomes.map(\.entry.id) == ["cup/1", "cup/2", "cup/3", "cup/4"])
        #expect(
            outcomes.map(\.entry.script.final.score) == ["0–0", "3–2", "1–1 (5–6 pens)", "1–2"]
        )
        for outcome in outcomes {
            #expect(outcome.failure == nil, "run \(run)")
            #expect(outcome.phones == 9)
            #expect(outcome.right == 9, "run \(run), \(outcome.entry.id)")
            #expect(outcome.report.accepted == outcome.entry.script.steps.count, "run \(run), \(outcome.entry.id)")
        }
    }
}
