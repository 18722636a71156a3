import Core
import Testing

@Suite("Rules of sending")
struct SendingRulesTests {
    @Test(
        "a stamp is the clock's, but always above the last, and comes within a second when stamps have run ahead",
        arguments: [
            // The last stamp, how long ago it was given, what comes at 1000.999 s.
            (0, 60_000, StampRule.Answer.stamp(1000)), (999, 0, .stamp(1000)), (1000, 0, .stamp(1001)),
            (1002, 0, .stamp(1003)), (1003, 0, .wait(until: Moment(seconds: 1001))),
            (1010, 400, .wait(until: Moment(milliseconds: 1_001_599))), (1010, 1_000, .stamp(1011)),
            (1600, 0, .wait(until: Moment(milliseconds: 1_001_999))), (1600, 60_000, .stamp(1601)),
            // It was given at a time that is still to come.
            (1003, -2_000, .stamp(1004)), (1600, -600_000, .stamp(1601)), (4900, -3_900_000, .stamp(4901)),
        ] as [(Int64, Int64, StampRule.Answer)]
    )
    func stamps(last: Int64, age: Int64, expected: StampRule.Answer) {
        let now = Moment(milliseconds: 1_000_999)
        let stampedAt = now - .milliseconds(age)
        #expect(StampRule.next(after: last, stampedAt: stampedAt, now: now, isUrgent: true) == expected)
    }

    @Test("stamps that no flood has carried ahead tell of a wrong clock", arguments: [(1010, false), (1011, true)])
    func wrongClock(last: Int64, isWrong: Bool) {
        #expect(StampRule.isClockWrong(last: last, now: Moment(milliseconds: 1_000_999)) == isWrong)
    }

    @Test("a flood of routine versions gets one stamp a second, and leaves a goal its own at once")
    func floodThenGoal() {
        var last: Int64 = 0
        var stampedAt: Moment?
        for millisecond in stride(from: Int64(1_000_000), to: 1_003_000, by: 10) {
            let now = Moment(milliseconds: millisecond)
            let answer = StampRule.next(after: last, stampedAt: stampedAt, now: now, isUrgent: false)
            if case .stamp(let stamp) = answer { (last, stampedAt) = (stamp, now) }
            for goals in [0, 1] {
                let answer = StampRule.next(after: last + Int64(goals), stampedAt: now, now: now, isUrgent: true)
                #expect(answer == .stamp(last + Int64(goals) + 1), "goal \(goals + 1) at \(millisecond)")
            }
        }
        #expect(last == 1003)
    }

    @Test("ten versions within a second rise strictly and end at most three seconds ahead")
    func burst() {
        var last: Int64 = 0
        var clock = Moment(seconds: 1000)
        var stampedAt: Moment?
        func next() -> StampRule.Answer {
            StampRule.next(after: last, stampedAt: stampedAt, now: clock, isUrgent: true)
        }
        for _ in 0..<10 {
            while case .wait(let until) = next() { clock = until }
            guard case .stamp(let stamp) = next() else { continue }
            #expect(stamp > last && stamp <= clock.seconds + 3)
            (last, stampedAt) = (stamp, clock)
        }
        #expect(last == 1009)
    }

    @Test("an alert is pending until it expires or is taken back")
    func alerts() {
        var head = MatchHead(version: 4, alertVersion: 3, alertExpiresAt: Moment(seconds: 120))
        #expect(AlertRule.isPending(head, now: Moment(seconds: 119)))
        #expect(!AlertRule.isPending(head, now: Moment(seconds: 120)))
        head.alertExpiresAt = nil
        #expect(!AlertRule.isPending(head, now: Moment(seconds: 1)))
    }

    @Test(
        "more than half of at least twenty pushes lets the target back off: whoever can be served is served",
        arguments: [
            (19, 19, false), (20, 10, false), (20, 11, true), (1000, 500, false), (1000, 501, true), (0, 0, false),
        ]
    )
    func verdict(sent: Int, failed: Int, backsOff: Bool) {
        #expect(PageVerdict(sent: sent, failed: failed) == (backsOff ? .backOff : .goOn))
    }

    @Test(
        "what APNs wants later is retried as it says, within a cap; what it says nothing of soon, and then more seldom"
    )
    func retries() {
        func delay(_ failure: RetryRule.Failure, _ attempt: Int, urgent: Bool) -> Duration {
            RetryRule.delay(after: failure, attempt: attempt, isUrgent: urgent)
        }
        #expect(delay(.later(after: .seconds(7)), 1, urgent: false) == .seconds(7))
        #expect(delay(.later(after: .zero), 1, urgent: false) == .milliseconds(50))
        #expect(delay(.later(after: .seconds(1)), 6, urgent: true) == .seconds(1))
        #expect(delay(.later(after: .seconds(1)), 8, urgent: true) == .seconds(4))
        #expect(delay(.later(after: .seconds(20)), 39, urgent: true) == .seconds(20))
        #expect(delay(.later(after: .seconds(1_000_000_000)), 1, urgent: true) == .seconds(120))
        #expect(delay(.later(after: .seconds(1_000_000_000)), 1, urgent: false) == .seconds(900))
        #expect(
            [1, 2, 3, 4, 5, 6, 40].map { delay(.later(after: nil), $0, urgent: true) }
                == [2, 5, 15, 30, 60, 120, 120].map { .seconds($0) }
        )
        #expect(
            [1, 4, 5, 8, 9, 40].map { delay(.later(after: nil), $0, urgent: false) }
                == [2, 30, 60, 480, 900, 900].map { .seconds($0) }
        )
        #expect(delay(.unknown, 1, urgent: false) == .milliseconds(500))
        #expect(delay(.unknown, 40, urgent: false) == .seconds(30))
    }

    @Test(
        "one token is tried for seven minutes at least, however soon APNs asks for it again",
        arguments: [RetryRule.Failure.later(after: .zero), .later(after: .seconds(1)), .unknown, .notProcessed]
    )
    func patience(failure: RetryRule.Failure) {
        let waits = (1..<RetryRule.attempts).map { RetryRule.delay(after: failure, attempt: $0, isUrgent: true) }
        #expect(waits.reduce(.zero, +) > .seconds(420))
        #expect(waits.allSatisfy { $0 <= .seconds(30) })
    }

    @Test("jitter adds up to a quarter, never takes away, and keeps below the cap")
    func jitter() {
        func delay(_ jitter: Double) -> Duration {
            RetryRule.delay(after: .later(after: .seconds(8)), attempt: 1, isUrgent: false, jitter: jitter)
        }
        #expect(delay(0) == .seconds(8) && delay(0.5) == .seconds(9) && delay(1) == .seconds(10))
        #expect(delay(-1) == .seconds(8) && delay(7) == .seconds(10))
        #expect(
            RetryRule.delay(after: .later(after: nil), attempt: 40, isUrgent: false, jitter: 1) == .seconds(900)
        )
        let jitters = (0..<1_000).map { RetryRule.jitter(of: "phone-\($0)", attempt: 1) }
        #expect(jitters.allSatisfy { (0..<1).contains($0) })
        let mean = jitters.reduce(0, +) / 1_000
        #expect(abs(mean - 0.5) < 0.05, "\(mean)")
        #expect((0..<10).allSatisfy { tenth in jitters.count { Int($0 * 10) == tenth } > 50 })
        #expect(RetryRule.jitter(of: "a", attempt: 1) == RetryRule.jitter(of: "a", attempt: 1))
        #expect(RetryRule.jitter(of: "a", attempt: 1) != RetryRule.jitter(of: "a", attempt: 2))
    }

    @Test("stale dates are never under a minute ahead; a channel that stores nothing expires at once")
    func dates() {
        let now = Moment(seconds: 10_000)
        #expect(PushTiming.staleDate(acceptedAt: now, staleAfter: .seconds(900), now: now).seconds == 10_900)
        #expect(PushTiming.staleDate(acceptedAt: now, staleAfter: .seconds(5), now: now).seconds == 10_060)
        let stale = Moment(seconds: 10_900)
        #expect(PushTiming.channelExpiration(storagePolicy: 0, isEnd: true, staleDate: stale, now: now) == 0)
        #expect(PushTiming.channelExpiration(storagePolicy: 1, isEnd: false, staleDate: stale, now: now) == 10_900)
        let far = now + .seconds(86_400)
        #expect(
            PushTiming.channelExpiration(storagePolicy: 1, isEnd: false, staleDate: far, now: now) == 10_000 + 28_799
        )
        #expect(PushTiming.tokenExpiration(isEnd: true, staleDate: stale, now: now) == 10_000 + 14_400)
    }

    @Test("a match ends when its hold is over, when it is called off, and after its silence, which is warned of before")
    func ends() {
        let kickoff = Moment(seconds: 100_000)
        func duty(
            last: Int64 = 0,
            silence: Int64 = 36 * 3600,
            due: Int64? = nil,
            resend: Int64? = nil,
            ended: Bool = false,
            off: Bool = false,
            now: Int64
        ) -> EndHold.Duty {
            EndHold.duty(
                kickoffAt: kickoff,
                lastActivityAt: Moment(seconds: last),
                silence: .seconds(silence),
                endDueAt: due.map(Moment.init(seconds:)),
                resendAt: resend.map(Moment.init(seconds:)),
                hasEnded: ended,
                isCalledOff: off,
                now: Moment(seconds: now)
            )
        }
        #expect(duty(due: 105_005, now: 105_004) == .look(at: Moment(seconds: 105_005)))
        #expect(duty(due: 105_005, now: 105_005) == .end)
        #expect(EndHold.silence == .seconds(36 * 3600))
        // A sixth before its end it is warned of: six hours of 36, ten minutes of one.
        let (warned, ended) = (kickoff + .seconds(30 * 3600), kickoff + .seconds(36 * 3600))
        #expect(duty(now: 100_001) == .look(at: warned))
        #expect(duty(now: warned.seconds - 1) == .look(at: warned))
        #expect(duty(now: warned.seconds) == .warn(endsAt: ended, look: ended))
        #expect(duty(now: ended.seconds - 1) == .warn(endsAt: ended, look: ended))
        #expect(duty(now: ended.seconds) == .end)
        // From the later of kick-off and last event on.
        #expect(duty(last: 229_599, now: 229_600) == .look(at: Moment(seconds: 229_599 + 30 * 3600)))
        #expect(duty(silence: 3_600, now: 102_999) == .look(at: Moment(seconds: 103_000)))
        #expect(duty(last: 103_000, silence: 3_600, now: 106_600) == .end)
        let hour = Moment(seconds: 103_600)
        #expect(duty(silence: 3_600, now: 103_000) == .warn(endsAt: hour, look: hour))
        #expect(
            duty(silence: 3_600, resend: 103_100, now: 103_050)
                == .warn(endsAt: hour, look: Moment(seconds: 103_100))
        )
        #expect(duty(off: true, now: 0) == .end)
        #expect(duty(resend: 100_030, now: 100_029) == .look(at: Moment(seconds: 100_030)))
        #expect(duty(resend: 100_030, now: 100_030) == .resend)
        #expect(duty(due: 100_030, resend: 100_030, now: 100_030) == .end)
        #expect(duty(resend: 100_030, ended: true, now: 100_030) == .resend)
        #expect(duty(resend: 100_031, ended: true, now: 100_030) == .afterwards)
        #expect(duty(ended: true, now: 0) == .afterwards)
    }

    @Test("moments before 1970 round down")
    func moments() {
        #expect(Moment(milliseconds: -1).seconds == -1)
        #expect(Moment(milliseconds: 1999).seconds == 1)
        #expect(Moment(seconds: 5) - Moment(seconds: 3) == .seconds(2))
    }
}
