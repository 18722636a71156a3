import APNsProtocol
import Core
import Testing

@Suite("Which due targets are taken first")
struct ClaimOrderTests {
    @Test(
        "gives every rank one of four places, and tokens no more than they may have",
        arguments: [
            (3, 3, [0, 1, 2]), (4, 4, [0, 1, 10, 11]), (6, 6, [0, 1, 2, 3, 10, 11]), (6, 1, [0, 1, 2, 3, 4, 10]),
            (6, 0, [0, 1, 2, 3, 4, 5]), (99, 99, Array(0...11)),
        ]
    )
    func places(places: Int, tokens: Int, expected: [Int]) {
        let flood = (0..<10).map { candidate("busy", true, .channel, Int64($0)) }
        let others = [candidate("small", true, .tokens, 100), candidate("small", false, .tokens, 200)]
        #expect(ClaimOrder.chosen(flood + others, places: places, tokens: tokens) == expected)
    }

    private func candidate(_ tenant: String, _ urgent: Bool, _ kind: TargetKind, _ due: Int64)
        -> ClaimOrder.Candidate<String>
    {
        ClaimOrder.Candidate(tenant: tenant, isUrgent: urgent, kind: kind, dueAt: Moment(seconds: due))
    }

    @Test("key before routine, then channels before tokens, then the longest due")
    func ranks() {
        let order = ClaimOrder.arranged([
            candidate("a", false, .tokens, 1), candidate("a", false, .channel, 2), candidate("a", true, .tokens, 3),
            candidate("a", true, .channel, 4), candidate("a", true, .channel, 3),
        ])
        #expect(order == [4, 3, 2, 1, 0])
    }

    @Test("a tenant with much to do comes in turn with the others")
    func fairness() {
        let busy = (0..<100).map { candidate("busy", true, .tokens, Int64($0)) }
        let order = ClaimOrder.arranged(busy + [candidate("small", true, .tokens, 1000)])
        #expect(order.prefix(2) == [0, 100])
        let behind = ClaimOrder.arranged(busy + [candidate("small", true, .tokens, 1000)], running: ["busy": 3])
        #expect(behind.first == 100)
        #expect(Set(order).count == 101)
    }
}

@Suite("What outcomes lead to")
struct DispositionTests {
    @Test(
        "each class has its own",
        arguments: [
            (.accepted(uniqueID: nil), .accepted),
            (.tokenDead(asOfMilliseconds: 5), .removeToken(asOf: Moment(milliseconds: 5))),
            (.tokenDead(asOfMilliseconds: nil), .removeToken(asOf: nil)),
            (.tokenRefused("BadDeviceToken"), .setTokenAside(reason: "BadDeviceToken")),
            (.channelGone("ChannelNotRegistered"), .checkChannel(reason: "ChannelNotRegistered")),
            (.later(after: .seconds(7), reason: "TooManyRequests"), .retry(.later(after: .seconds(7)))),
            (.unknown("deadline"), .retry(.unknown)), (.notProcessed, .retry(.notProcessed)),
            (.tooLarge, .giveUp(reason: "PayloadTooLarge")),
            (.refused(status: 404, reason: ""), .giveUp(reason: "status 404")),
            (.refused(status: 400, reason: "NewReason"), .giveUp(reason: "NewReason")),
        ] as [(Outcome, Disposition)]
    )
    func classes(outcome: Outcome, expected: Disposition) {
        #expect(Disposition(outcome) == expected)
    }

    @Test("a stop names the reason and what to fix", arguments: ["TopicDisallowed", "Forbidden", "SomethingNew"])
    func stops(reason: String) {
        guard case .stopApp(let text) = Disposition(.configuration(APNsReason(rawValue: reason))) else {
            Issue.record("no stop")
            return
        }
        #expect(text.hasPrefix(reason + ": "))
    }

    @Test("fifty refused tokens of less than a hundred stop the app; old ones do not count")
    func refusals() {
        let start = Moment(seconds: 1000)
        func verdicts(_ notes: (answered: Int, refused: Range<Int>, after: Int64)...) -> [Bool] {
            var watch = RefusalWatch()
            return notes.map {
                watch.note(answered: $0.answered, refused: Array($0.refused), at: start + .seconds($0.after))
            }
        }
        #expect(verdicts((49, 0..<49, 0), (1, 49..<50, 200)) == [false, true])
        #expect(verdicts((100, 0..<50, 0), (1, 50..<51, 0)) == [false, true])
        #expect(verdicts((49, 0..<49, 0), (1, 49..<50, 301)) == [false, false])
    }

    @Test("one token that is registered and refused again and again stops nobody")
    func oneRefusedToken() {
        var watch = RefusalWatch()
        for second in 0..<100 {
            let stops = watch.note(answered: 1, refused: [4711], at: Moment(seconds: 1000 + Int64(second)))
            #expect(!stops)
        }
    }
}
