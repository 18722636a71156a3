import Core
import Testing

@Suite("What is said of matches that are behind")
struct BehindWatchTests {
    private typealias Remark = BehindWatch<String>.Remark

    private var watch = BehindWatch<String>()

    private func at(_ seconds: Int64) -> Moment { Moment(seconds: 1_000_000 + seconds) }

    @Test("is nothing for a minute, then that they are, and when they have caught up, once each")
    mutating func once() {
        #expect(watch.note(["final": at(0)], isComplete: true, now: at(59)) == [])
        #expect(watch.note(["final": at(0)], isComplete: true, now: at(60)) == [.behind("final", since: at(0))])
        #expect(watch.note(["final": at(0)], isComplete: true, now: at(65)) == [])
        #expect(watch.note([:], isComplete: true, now: at(70)) == [.caughtUp("final", after: .seconds(70))])
        #expect(watch.note([:], isComplete: true, now: at(75)) == [])
    }

    @Test("comes again every ten minutes while they stay behind")
    mutating func again() {
        var said: [Int64] = []
        for second in stride(from: Int64(0), through: 1_300, by: 5) {
            if !watch.note(["final": at(0)], isComplete: true, now: at(second)).isEmpty { said.append(second) }
        }
        #expect(said == [60, 660, 1_260])
    }

    @Test("counts from the first version that was lacking, though a later one is now")
    mutating func movesOn() {
        _ = watch.note(["final": at(0)], isComplete: true, now: at(100))
        #expect(watch.note(["final": at(30)], isComplete: true, now: at(120)) == [])
        #expect(
            watch.note(["final": at(115)], isComplete: true, now: at(130)) == [.caughtUp("final", after: .seconds(130))]
        )
    }

    @Test("does not call one caught up that a bounded list leaves out")
    mutating func incomplete() {
        _ = watch.note(["a": at(0), "b": at(1)], isComplete: true, now: at(100))
        #expect(watch.note(["a": at(0)], isComplete: false, now: at(105)) == [])
        #expect(watch.note(["a": at(0)], isComplete: true, now: at(110)) == [.caughtUp("b", after: .seconds(109))])
    }

    @Test("begins with those behind the longest, and knows of a bounded number")
    mutating func bounded() {
        let many = Dictionary(uniqueKeysWithValues: (0..<1_500).map { ("m\($0)", at(Int64($0 % 100))) })
        let remarks = watch.note(many, isComplete: true, now: at(1_000))
        #expect(remarks.count == 1_000)
        #expect(remarks.first.map { if case .behind(_, at(0)) = $0 { true } else { false } } == true)
        #expect(watch.note(many, isComplete: true, now: at(1_005)) == [])
        #expect(watch.note([:], isComplete: true, now: at(1_010)).count == 1_000)
    }

    @Test("goes on where the database's clock steps back")
    mutating func clockSteps() {
        _ = watch.note(["final": at(0)], isComplete: true, now: at(1_000))
        #expect(watch.note(["final": at(0)], isComplete: true, now: at(400)) == [.behind("final", since: at(0))])
    }
}
