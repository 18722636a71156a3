import Executables
import Foundation
import Testing

@testable import loadtest

@Suite("Starts of the load tester", .timeLimit(.minutes(10)))
struct StartsTests {
    private func options(_ line: String) throws -> StartsOptions {
        let parser = CommandParser(program: .loadtest, commands: Command.all)
        let words = ("starts " + line).split(separator: " ").map(String.init)
        guard case .run(let invocation) = try parser.parse(words, environment: [:]) else {
            throw Failure(.failed, "help")
        }
        return try StartsOptions(invocation)
    }

    @Test(
        "a service that is killed in the middle leaves nobody with two, and nobody without one that it does not know of"
    )
    func short() async throws {
        let workplace = try Workplace(in: ProcessInfo.processInfo.environment["TMPDIR"], name: "touchline-starts")
        let report: Report
        do {
            report = try await StartsRun.run(
                options("--devices 3000 --kills 1 --rtt 150 --patience 240 --seed 3"),
                in: workplace
            )
        } catch {
            await workplace.stop()
            throw error
        }
        await workplace.stop()
        let starts = try #require(report.starts)
        let sum = starts.sum
        #expect(starts.problems.isEmpty)
        #expect(sum.wanted == 2_850 && sum.once + sum.missing == 2_850)
        #expect(sum.twice == 0 && sum.unwanted == 0 && sum.lost == 0)
        #expect(sum.kills.count == 1 && sum.once > 2_000)
        // Only what was under way is in doubt, and not what had not begun.
        #expect(sum.states["unknown"] ?? 0 <= 200)
    }

    @Test("have nine in ten devices follow a team, and one in twenty both; the same for the same seed")
    func devices() throws {
        let devices = StartDevices(seed: 4, round: 2, count: 10_000)
        #expect(devices.wanted.count == 9_500)
        #expect(Set(devices.tokens).count == 10_000)
        let lines = devices.lines.map { String(decoding: $0, as: UTF8.self) }.joined().split(separator: "\n")
        #expect(lines.count == 10_000)
        #expect(lines.count { $0.contains("team:home-2") && $0.contains("team:away-2") } == 500)
        #expect(lines.count { $0.contains("team:home-2") || $0.contains("team:away-2") } == 9_500)
        #expect(devices.tokens == StartDevices(seed: 4, round: 2, count: 10_000).tokens)
        #expect(devices.tokens[0] != StartDevices(seed: 4, round: 3, count: 10_000).tokens[0])
    }
}
