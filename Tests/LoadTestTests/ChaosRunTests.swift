import Executables
import Foundation
import Testing

@testable import loadtest

@Suite("Chaos of the load tester", .timeLimit(.minutes(10)))
struct ChaosRunTests {
    /// Short, and with every kind of process in it; a longer one with a seed is what `loadtest chaos` is for.
    @Test("for some seconds, in processes of its own: nothing lost, nothing stale, and all sums right")
    func short() async throws {
        let parser = CommandParser(program: .loadtest, commands: Command.all)
        let line =
            "chaos --seconds 8 --seed 6 --services 2 --phones 20 --pace 1500 --patience 240 --quiet "
            + "--faults service,database,apns"
        guard
            case .run(let invocation) = try parser.parse(line.split(separator: " ").map(String.init), environment: [:])
        else { throw Failure(.failed, "help") }
        let options = try ChaosOptions(invocation)
        let workplace = try Workplace(in: ProcessInfo.processInfo.environment["TMPDIR"], name: "touchline-chaos")
        let report: Report
        do {
            report = try await ChaosRun.run(options, in: workplace)
        } catch {
            await workplace.stop()
            throw error
        }
        await workplace.stop()
        let figures = try #require(report.chaos)
        #expect(report.complaints == [])
        #expect(figures.problems == [])
        #expect(figures.events_accepted > 0)
        #expect(figures.faults.count > 2)
    }
}
