import Executables
import Foundation
import Testing

@testable import loadtest

@Suite("A season of the load tester", .timeLimit(.minutes(10)))
struct SeasonTests {
    private func options(_ line: String) throws -> SeasonOptions {
        let parser = CommandParser(program: .loadtest, commands: Command.all)
        let words = ("season " + line).split(separator: " ").map(String.init)
        guard case .run(let invocation) = try parser.parse(words, environment: [:]) else {
            throw Failure(.failed, "help")
        }
        return try SeasonOptions(invocation)
    }

    @Test("in processes of its own, killed and with answers lost: never too many channels, and none left")
    func short() async throws {
        let line = "--matches 30 --seconds 6 --lead 4 --linger 1 --pace 4000 --skip 90 --patience 240 --seed 5"
        let workplace = try Workplace(in: ProcessInfo.processInfo.environment["TMPDIR"], name: "touchline-season")
        let report: Report
        do {
            report = try await SeasonRun.run(options(line), in: workplace)
        } catch {
            await workplace.stop()
            throw error
        }
        await workplace.stop()
        let season = try #require(report.season)
        #expect(season.problems.isEmpty)
        #expect(season.channels_left == 0 && season.ledger_left == 0)
        #expect(season.channels_seen > 0 && season.channels_most <= season.channels_allowed)
        #expect(season.kills >= 2 && season.readings > 10)
    }

    @Test("is the same for the same seed, and has each fate")
    func plan() throws {
        let one = SeasonPlan(try options("--seed 7")).fixtures
        let same = SeasonPlan(try options("--seed 7")).fixtures
        #expect(one.map(\.kickoff) == same.map(\.kickoff) && one.map(\.fate) == same.map(\.fate))
        #expect(one.count == 380 && Set(one.map(\.match)).count == 380)
        #expect(Set(one.map(\.fate)) == Set(SeasonPlan.Fate.allCases))
        #expect(one.map(\.kickoff) != SeasonPlan(try options("--seed 8")).fixtures.map(\.kickoff))
    }

    /// A book of two matches, one near and one far, and three readings of APNs' list.
    private func problems(_ readings: [[String]], _ owners: [String: String]) -> [String] {
        let book = SeasonBook(stay: 10)
        book.opens("near", at: 100)
        book.opens("far", at: 1_000)
        for (index, ids) in readings.enumerated() {
            let time = 100 + Double(index)
            book.saw(ids, asked: time, answered: time)
        }
        book.judge(owners)
        return book.values.problems
    }

    @Test("finds too many channels, early ones, two of one match, and those that nobody knows")
    func finds() {
        #expect(problems([["a"], ["a"], []], ["a": "near"]).isEmpty)
        #expect(problems([["a"], [], ["b"]], ["a": "near", "b": "near"]).isEmpty)
        #expect(problems([["a", "b"], [], []], ["a": "near", "b": "near"]).count == 2)
        #expect(problems([["a"], [], []], ["a": "far"]).first?.contains("before its lead") == true)
        #expect(problems([["a"], [], []], [:]).first?.contains("in no book") == true)
    }

    @Test("knows when a match's channel must be gone")
    func stays() {
        let book = SeasonBook(stay: 10)
        book.opens("m", at: 0)
        book.saw(["a"], asked: 5, answered: 5)
        book.isOver("m", at: 6)
        book.saw(["a"], asked: 15, answered: 15)
        #expect(book.values.problems.isEmpty)
        book.saw(["a"], asked: 17, answered: 17)
        #expect(book.values.problems.count == 1)
        #expect(book.longestStay(["a": "m"]) == 11)
    }
}
