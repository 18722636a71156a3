import APNs
import APNsProtocol
import Testing

@testable import loadtest

@Suite("The sums of a run")
struct BooksTests {
    private func counts(_ answers: [String: Int], doubledIDs: Int? = nil) -> SimulatorControl.Counts {
        SimulatorControl.Counts(
            requests: ["device": answers.values.reduce(0, +)],
            answers: answers,
            connections: 1,
            doubled_ids: doubledIDs
        )
    }

    private func report(
        offered: Int,
        _ outcomes: [Outcome],
        sink: SimulatorControl.Counts?,
        resent: Int = 0,
        countsDoubles: Bool = false
    ) -> Report {
        var tally = OutcomeCounts()
        tally.add(outcomes)
        var report = Report(test: "pool", command: "loadtest pool")
        let books = PoolBooks(
            offered: offered,
            outcomes: tally,
            resent: resent,
            sink: sink,
            countsDoubles: countsDoubles
        )
        books.write(into: &report)
        return report
    }

    private let accepted = Outcome.accepted(uniqueID: nil)
    private let later = Outcome(status: 429, body: Array(#"{"reason":"TooManyRequests"}"#.utf8))

    @Test("are right where both sides counted the same")
    func agree() {
        let report = report(
            offered: 3,
            [accepted, accepted, later],
            sink: counts(["200": 2, "429 TooManyRequests": 1])
        )
        #expect(report.complaints.isEmpty)
        #expect(report.outcomes == ["accepted": 2, "later TooManyRequests": 1])
        #expect((report.lost, report.doubled) == (0, 0))
        #expect(report.sums.count == 4)
        #expect(!report.sums.contains { !$0.isRight })
    }

    @Test("find a push without an outcome")
    func findMissing() {
        let report = report(offered: 3, [accepted, accepted], sink: counts(["200": 2]))
        #expect(report.lost == 1)
        #expect(report.complaints == ["1 pushes lost"])
    }

    @Test("find an outcome that the other side never gave")
    func findInvented() {
        let report = report(offered: 2, [accepted, accepted], sink: counts(["200": 1]))
        #expect(report.lost == 1)
        #expect(report.sums.contains { !$0.isRight && $0.what == "accepted" })
    }

    @Test("let an unheard answer pass only for an unknown push")
    func boundTheDoubtful() {
        let heard = counts(["200": 2])
        #expect(report(offered: 2, [accepted, .unknown("lost")], sink: heard).complaints.isEmpty)
        let wrong = report(offered: 2, [accepted, later], sink: counts(["200": 2, "429 TooManyRequests": 1]))
        #expect(wrong.doubled == 1)
        #expect(!wrong.complaints.isEmpty)
    }

    @Test("count doubles by id where the other side reads ids")
    func countDoubles() {
        let report = report(offered: 1, [accepted], sink: counts(["200": 1], doubledIDs: 1), countsDoubles: true)
        #expect(report.doubled == 1)
    }

    @Test("need no other side, and complain where nothing was accepted")
    func standAlone() {
        #expect(report(offered: 1, [accepted], sink: nil).complaints.isEmpty)
        #expect(report(offered: 1, [later], sink: nil).complaints == ["no push was accepted"])
    }
}
