import Core
import Testing

@Suite("Pacing of one target")
struct PacingTests {
    static let limits = PacingLimits(gap: .seconds(5), urgentPerHour: 3)
    static let now = Moment(seconds: 1_790_000_000)

    private func ago(_ seconds: Int64) -> Moment {
        Self.now - .seconds(seconds)
    }

    @Test("a routine update waits until its gap is over", arguments: [(1, false), (4, false), (5, true), (6, true)])
    func gap(since seconds: Int64, goes: Bool) {
        let record = PacingRecord(routineAt: ago(seconds))
        let decision = Pacing.decide(.routine, record: record, limits: Self.limits, now: Self.now)
        #expect(decision == (goes ? .send(priority: 5, downgraded: false) : .wait(until: ago(seconds) + .seconds(5))))
    }

    @Test("the first routine update, and one after the clock was set back, goes at once")
    func noReasonToWait() {
        for routineAt in [nil, Self.now + .seconds(900)] {
            let record = PacingRecord(routineAt: routineAt)
            #expect(
                Pacing.decide(.routine, record: record, limits: Self.limits, now: Self.now)
                    == .send(priority: 5, downgraded: false)
            )
        }
    }

    @Test("pushes that a clock noted which was set back since use nothing up, and are forgotten")
    func fromTheFuture() {
        var record = PacingRecord(urgentAt: (1...9).map { Self.now + .seconds($0 * 60) })
        #expect(
            Pacing.decide(.key, record: record, limits: Self.limits, now: Self.now)
                == .send(priority: 10, downgraded: false)
        )
        record.note(priority: 10, isUrgent: true, at: Self.now)
        #expect(record.urgentAt == [Self.now])
    }

    @Test("a key update does not wait for a gap")
    func keyGoesAtOnce() {
        let record = PacingRecord(urgentAt: [ago(1)], routineAt: ago(1))
        #expect(
            Pacing.decide(.key, record: record, limits: Self.limits, now: Self.now)
                == .send(priority: 10, downgraded: false)
        )
    }

    @Test("beyond the sliding hour's allowance a key update goes at priority 5, an end still at 10")
    func allowance() {
        let used = PacingRecord(urgentAt: [ago(3599), ago(60), ago(1)])
        #expect(
            Pacing.decide(.key, record: used, limits: Self.limits, now: Self.now)
                == .send(priority: 5, downgraded: true)
        )
        #expect(
            Pacing.decide(.end, record: used, limits: Self.limits, now: Self.now)
                == .send(priority: 10, downgraded: false)
        )
        let slid = PacingRecord(urgentAt: [ago(3600), ago(60), ago(1)])
        #expect(
            Pacing.decide(.key, record: slid, limits: Self.limits, now: Self.now)
                == .send(priority: 10, downgraded: false)
        )
    }

    @Test("the record forgets what is older than an hour, and counts only what it should")
    func record() {
        var record = PacingRecord(urgentAt: [ago(4000), ago(10)])
        record.note(priority: 10, isUrgent: true, at: Self.now)
        #expect(record == PacingRecord(urgentAt: [ago(10), Self.now]))
        record.note(priority: 5, isUrgent: true, at: Self.now)
        #expect(record == PacingRecord(urgentAt: [ago(10), Self.now]))
        record.note(priority: 5, isUrgent: false, at: Self.now)
        #expect(record == PacingRecord(urgentAt: [ago(10), Self.now], routineAt: Self.now))
    }

    /// Every urgency, with each number of pushes in and out of the hour, each age of the last routine update, and each kind of
    /// limits: what is decided, by a second reading of the rules.
    @Test(
        "decides as its table says for every combination",
        arguments: [
            PacingLimits(gap: .seconds(5), urgentPerHour: 120), PacingLimits(gap: .seconds(60), urgentPerHour: 15),
            PacingLimits(gap: .zero, urgentPerHour: 0), PacingLimits(gap: .seconds(3600), urgentPerHour: 1),
        ]
    )
    func table(limits: PacingLimits) {
        let allowance = limits.urgentPerHour
        let counts = Set([0, 1, max(0, allowance - 1), allowance, allowance + 1])
        let ages: [Duration?] =
            [nil, .zero, .milliseconds(1), .seconds(-1), .seconds(-900)]
            + [-1, 0, 1].map { limits.gap + .milliseconds($0) }
        var decided = 0
        for inside in counts {
            for outside in [0, 1, allowance + 1] {
                for age in ages {
                    // Just inside of the sliding hour, and just outside.
                    let record = PacingRecord(
                        urgentAt: Array(repeating: Self.now - .seconds(3600), count: outside)
                            + Array(repeating: Self.now - .milliseconds(3_599_999), count: inside),
                        routineAt: age.map { Self.now - $0 }
                    )
                    func decide(_ urgency: Pacing.Urgency) -> Pacing.Decision {
                        Pacing.decide(urgency, record: record, limits: limits, now: Self.now)
                    }
                    #expect(decide(.end) == .send(priority: 10, downgraded: false))
                    #expect(
                        decide(.key)
                            == (inside < allowance
                                ? .send(priority: 10, downgraded: false) : .send(priority: 5, downgraded: true))
                    )
                    let isHeld = age.map { $0 >= .zero && $0 < limits.gap } ?? false
                    #expect(
                        decide(.routine)
                            == (isHeld
                                ? .wait(until: Self.now - (age ?? .zero) + limits.gap)
                                : .send(priority: 5, downgraded: false))
                    )
                    decided += 3
                }
            }
        }
        #expect(decided == counts.count * 3 * ages.count * 3)
    }

    @Test(
        "in any hour no more than the allowance goes at priority 10, whatever comes, and routine updates keep their gap"
    )
    func anyHour() {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<20 {
            let limits = PacingLimits(gap: .seconds(Int.random(in: 0...90, using: &random)), urgentPerHour: 7)
            var (record, now) = (PacingRecord(), Self.now)
            var (urgent, routine): ([Moment], [Moment]) = ([], [])
            for _ in 0..<2_000 {
                now = now + .milliseconds(Int.random(in: 0...120_000, using: &random))
                let isUrgent = Int.random(in: 0..<4, using: &random) == 0
                guard
                    case .send(let priority, _) = Pacing.decide(
                        isUrgent ? .key : .routine,
                        record: record,
                        limits: limits,
                        now: now
                    )
                else { continue }
                record.note(priority: priority, isUrgent: isUrgent, at: now)
                if priority == 10 { urgent.append(now) }
                if !isUrgent { routine.append(now) }
            }
            #expect(zip(urgent, urgent.dropFirst(7)).allSatisfy { $1 - $0 >= .seconds(3600) })
            #expect(zip(routine, routine.dropFirst()).allSatisfy { $1 - $0 >= limits.gap })
            #expect(record.urgentAt.count <= 7)
        }
    }
}
