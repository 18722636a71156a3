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
}
