import APNsProtocol
import Testing

@testable import APNs

@Suite("Who may come into the queue of a loop")
struct AdmissionTests {
    private static func lane(_ number: Int64) -> LaneKey {
        LaneKey(environment: .production, role: .push, credential: CredentialID(number))
    }

    private static func counts(_ channel: Int = 0, _ urgent: Int = 0, _ routine: Int = 0) -> PushRankCounts {
        var counts = PushRankCounts()
        counts[.channel] = channel
        counts[.urgent] = urgent
        counts[.routine] = routine
        return counts
    }

    private func make() -> Admission { Admission(limits: Admission.Limits(routine: 1000, urgentPerLane: 100)) }

    /// A queue of 1000 is filled by one lane; what may another batch do?
    @Test(
        "when one lane has filled it",
        arguments: [
            // Its own, however small, waits outside; another lane's first comes in, whatever its size.
            (1, .routine, 1, false), (2, .routine, 5000, true),
            // Urgent ones come in, and the first whatever its size.
            (1, .urgent, 1, true), (1, .urgent, 500, true), (1, .channel, 1, true), (2, .channel, 1, true),
        ] as [(Int64, PushRank, Int, Bool)]
    )
    func whenFull(lane: Int64, rank: PushRank, count: Int, comesIn: Bool) {
        var admission = make()
        let first = admission.enter(1, count: 1000, lane: Self.lane(1), rank: .routine)
        #expect(first)
        let next = admission.enter(2, count: count, lane: Self.lane(lane), rank: rank)
        #expect(next == comesIn)
        #expect(admission.outside == (comesIn ? 0 : count))
    }

    @Test("urgent pushes are bounded a lane, those to channels apart from them")
    func boundsUrgent() {
        var admission = make()
        let answers = [(PushRank.urgent, 60), (.urgent, 40), (.urgent, 1), (.channel, 100), (.channel, 1)]
            .enumerated()
            .map { admission.enter($0.offset, count: $0.element.1, lane: Self.lane(1), rank: $0.element.0) }
        #expect(answers == [true, true, false, true, false])
        // Each waits for its own kind.
        admission.update(Self.lane(1), inside: Self.counts(100, 99))
        #expect(admission.next() == 2)
        #expect(admission.next() == nil)
        admission.update(Self.lane(1), inside: Self.counts(99, 100))
        #expect(admission.next() == 4)
        #expect(admission.outside == 0)
    }

    @Test("lanes outside are let in by turns, one batch each")
    func takesTurns() {
        var admission = make()
        _ = admission.enter(1, count: 1000, lane: Self.lane(9), rank: .routine)
        for lane: Int64 in 1...3 {
            for batch in 0...3 {
                let isIn = admission.enter(Int(lane) * 10 + batch, count: 30, lane: Self.lane(lane), rank: .routine)
                // The first of each, since nothing of its lane waits.
                #expect(isIn == (batch == 0))
            }
        }
        var order: [Int] = []
        for left in stride(from: 910, through: 0, by: -90) {
            admission.update(Self.lane(9), inside: Self.counts(0, 0, left))
            while let number = admission.next() { order.append(number) }
        }
        #expect(order == [11, 21, 31, 12, 22, 32, 13, 23, 33])
    }

    @Test("a lane whose last push has left is let in out of turn, though the queue is full")
    func letsTheEmptyIn() {
        var admission = make()
        let hog = admission.enter(1, count: 1000, lane: Self.lane(1), rank: .routine)
        let small = admission.enter(2, count: 10, lane: Self.lane(2), rank: .routine)
        #expect(hog && small)
        for number in 3...9 { _ = admission.enter(number, count: 500, lane: Self.lane(1), rank: .routine) }
        let second = admission.enter(10, count: 10, lane: Self.lane(2), rank: .routine)
        #expect(!second)
        admission.update(Self.lane(2), inside: Self.counts(0, 0, 0))
        #expect(admission.next() == 10)
        #expect(admission.next() == nil)
    }

    @Test("what was taken back is not let in, and counts no more")
    func takesBack() {
        var admission = make()
        _ = admission.enter(1, count: 1000, lane: Self.lane(1), rank: .routine)
        for number in 2...4 { _ = admission.enter(number, count: 100, lane: Self.lane(1), rank: .routine) }
        let taken = [3, 3, 1, 2].map { admission.remove($0) }
        #expect(taken == [true, false, false, true])
        #expect(admission.outside == 100)
        admission.update(Self.lane(1), inside: Self.counts(0, 0, 800))
        #expect(admission.next() == 4)
        #expect(admission.next() == nil)
        #expect(admission.outside == 0)
    }

    @Test("with random batches each comes in once, and the limits hold", arguments: 1...20 as ClosedRange<UInt64>)
    func keepsLimits(seed: UInt64) {
        var random = SeededRandom(seed)
        var admission = make()
        var inside: [Int64: PushRankCounts] = [:]
        var batches: [Int: (lane: Int64, rank: PushRank, count: Int)] = [:]
        var outside: Set<Int> = []
        var entered: Set<Int> = []
        func enters(_ number: Int) {
            let isNew = entered.insert(number).inserted
            #expect(isNew)
            guard let batch = batches[number] else { return }
            inside[batch.lane, default: PushRankCounts()][batch.rank] += batch.count
        }
        for number in 1...2000 {
            let lane = Int64.random(in: 1...5, using: &random)
            let rank = PushRank(rawValue: Int.random(in: 0...2, using: &random)) ?? .routine
            let count = Int.random(in: 1...80, using: &random)
            batches[number] = (lane, rank, count)
            if admission.enter(number, count: count, lane: Self.lane(lane), rank: rank) {
                enters(number)
            } else {
                outside.insert(number)
            }
            if number % 7 == 0, let one = outside.randomElement(using: &random) {
                let isRemoved = admission.remove(one)
                #expect(isRemoved)
                outside.remove(one)
            }
            let leaving = Int64.random(in: 1...5, using: &random)
            var rest = inside[leaving] ?? PushRankCounts()
            for rank in PushRank.allCases { rest[rank] -= Int.random(in: 0...max(0, rest[rank]), using: &random) }
            inside[leaving] = rest
            admission.update(Self.lane(leaving), inside: rest)
            while let next = admission.next() {
                let waited = outside.remove(next)
                #expect(waited != nil)
                enters(next)
            }
            let routine = inside.values.reduce(0) { $0 + $1[.routine] }
            // A lane that had none may have come in beyond the limit.
            #expect(routine <= 1000 + 5 * 80)
            for counts in inside.values { #expect(counts[.urgent] <= 180 && counts[.channel] <= 180) }
            #expect(admission.outside == outside.reduce(0) { $0 + (batches[$1]?.count ?? 0) })
        }
        for lane in inside.keys { admission.update(Self.lane(lane), inside: PushRankCounts()) }
        while let next = admission.next() {
            outside.remove(next)
            for lane in inside.keys { admission.update(Self.lane(lane), inside: PushRankCounts()) }
        }
        #expect(outside.isEmpty)
    }
}

/// The same numbers for the same seed. Source: Steele, Lea and Flood, "SplitMix".
struct SeededRandom: RandomNumberGenerator {
    private var state: UInt64

    init(_ seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

@Suite("On which loop a batch is sent")
struct ShardChoiceTests {
    @Test(
        "its lane's home, unless there is much to do there",
        arguments: [
            (0, [0, 0], 0), (1, [0, 0], 1), (7, [0, 0], 1), (-1, [0, 0, 0], 0), (0, [256, 0], 0), (0, [257, 0], 1),
            (0, [257, 257], 0), (0, [1000, 900], 1), (1, [900, 1000, 899], 2), (0, [9000], 0),
        ]
    )
    func chooses(home: Int, loads: [Int], loop: Int) {
        #expect(ShardChoice.loop(home: home, loads: loads) == loop)
    }
}

@Suite("Whether a clock is wrong")
struct ClockCheckTests {
    private let date = "Sun, 06 Nov 1994 08:49:37 GMT"

    @Test("more than five minutes are said, with their direction", arguments: [-4000, -300, 0, 300, 301])
    func says(ahead: Int64) {
        let complaint = ClockCheck.complaint(date: date, now: 784_111_777 + ahead)
        if abs(ahead) <= 300 {
            #expect(complaint == nil)
        } else {
            let words = ahead > 0 ? "301 s ahead of APNs'" : "4000 s behind APNs'"
            #expect(complaint?.contains(words) == true)
        }
    }

    @Test("without a date nothing is said", arguments: [nil, "", "yesterday"])
    func isSilent(date: String?) { #expect(ClockCheck.complaint(date: date, now: 0) == nil) }
}
