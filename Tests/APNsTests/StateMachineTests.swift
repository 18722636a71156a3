import APNsProtocol
import Crypto
import Foundation
import Testing

@testable import APNs

@Suite("When a provider token is signed anew")
struct ProviderTokenRulesTests {
    @Test(
        "by its age, and by what APNs said",
        arguments: [
            (nil, false, .sign),
            (0, false, .use),
            (49 * 60, false, .use),
            (50 * 60, false, .sign),
            (120 * 60, false, .sign),
            (19 * 60, true, .clockIsWrong),
            (20 * 60, true, .sign),
            (-30, false, .use),
            (-3600, false, .sign),
        ] as [(Int64?, Bool, ProviderTokenRules.Decision)]
    )
    func decides(age: Int64?, wasRefused: Bool, expected: ProviderTokenRules.Decision) {
        let now: Int64 = 1_790_000_000
        #expect(ProviderTokenRules.decide(issuedAt: age.map { now - $0 }, now: now, wasRefused: wasRefused) == expected)
    }

    @Test("one connection carries a new token at most every twenty minutes")
    func connectionRule() {
        var rule = ConnectionTokenRule()
        let start = ContinuousClock.now
        let facts = [(1, 0), (1, 600), (2, 1199), (2, 1200), (3, 1201)]
        let answers = facts.map { rule.mayCarry(generation: $0, now: start + .seconds($1)) }
        #expect(answers == [true, true, false, true, false])
    }

    @Test("a signed token has the parts that Apple's page names")
    func signs() throws {
        let key = try P256PrivateKey.generate()
        let team = try Pushes.required(TeamID(validating: "ABCDE12345"))
        let keyID = try Pushes.required(KeyID(validating: "KEYID12345"))
        let token = try ProviderTokenSigner.sign(key: key, team: team, keyID: keyID, issuedAt: 1_790_000_000)
        let parts = token.split(separator: ".")
        try #require(parts.count == 3)
        let texts = parts.prefix(2).map { String(decoding: Base64URL.decode($0) ?? [], as: UTF8.self) }
        #expect(texts == [#"{"alg":"ES256","kid":"KEYID12345"}"#, #"{"iss":"ABCDE12345","iat":1790000000}"#])
        let signature = try Pushes.required(Base64URL.decode(parts[2]))
        #expect(signature.count == 64)
        #expect(key.publicKey.verify(signature, of: Array("\(parts[0]).\(parts[1])".utf8)))
    }
}

@Suite("How many connections a lane has")
struct ConnectionGrowthTests {
    private let start = ContinuousClock.now

    private func make() -> ConnectionGrowth {
        ConnectionGrowth(limit: 4, backOff: BackOff(first: .milliseconds(100), most: .seconds(30)))
    }

    @Test(
        "as many more as there are while pushes wait, up to the limit",
        arguments: [
            (0, 0, 0, false), (1, 0, 0, true), (1, 0, 1, false), (1, 1, 0, true), (1, 1, 1, false), (1, 2, 1, true),
            (1, 3, 0, true), (1, 3, 1, false), (1, 4, 0, false), (1, 2, 2, false),
        ]
    )
    func grows(waiting: Int, ready: Int, unproven: Int, opens: Bool) {
        let facts = ConnectionGrowth.Facts(waiting: waiting, ready: ready, unproven: unproven)
        #expect(make().decide(facts, now: start) == (opens ? .open : .none))
    }

    @Test(
        "none for what is gone before its handshake is, and one more than the limit for an urgent push",
        arguments: [
            (25, 100, 1, false, false), (26, 100, 1, false, true), (1, 100, 1, true, true),
            (9000, 4000, 4, false, false),
            (9000, 4000, 4, true, true), (9000, 4000, 5, true, false),
            // What is under way is on connections that drain: they never take what waits.
            (1, 900, 0, false, true),
        ]
    )
    func growsForWhatIsWorthIt(waiting: Int, inFlight: Int, ready: Int, isUrgent: Bool, opens: Bool) {
        let facts = ConnectionGrowth.Facts(
            waiting: waiting,
            ready: ready,
            unproven: 0,
            inFlight: inFlight,
            isUrgent: isUrgent
        )
        #expect(make().decide(facts, now: start) == (opens ? .open : .none))
    }

    @Test("after failures it waits longer each time, and not after a success")
    func backsOff() {
        var growth = make()
        let facts = ConnectionGrowth.Facts(waiting: 1, ready: 0, unproven: 0)
        growth.failed(now: start, random: 0)
        #expect(growth.decide(facts, now: start) == .askAgain(at: start + .milliseconds(50)))
        growth.failed(now: start, random: 0.5)
        #expect(growth.decide(facts, now: start) == .askAgain(at: start + .milliseconds(150)))
        growth.succeeded()
        #expect(growth.decide(facts, now: start) == .open)
    }

    @Test("back-off doubles with jitter up to its most", arguments: [0, 0.25, 0.999])
    func doubles(random: Double) {
        var backOff = BackOff(first: .milliseconds(100), most: .seconds(30))
        for failure in 0..<40 {
            let whole = min(Duration.milliseconds(100) * (1 << min(failure, 20)), .seconds(30))
            let wait = backOff.failed(random: random)
            #expect(wait >= whole / 2 && wait <= whole)
        }
    }

    @Test("idle ones go, the last of a lane much later")
    func shrinks() {
        func isSurplus(_ idle: Duration, others: Int) -> Bool {
            ConnectionGrowth.isSurplus(
                idleFor: idle,
                others: others,
                shrinkAfter: .seconds(60),
                closeAfter: .seconds(3600)
            )
        }
        #expect(!isSurplus(.seconds(59), others: 1))
        #expect(isSurplus(.seconds(60), others: 1))
        #expect(!isSurplus(.seconds(3599), others: 0))
        #expect(isSurplus(.seconds(3600), others: 0))
    }
}

@Suite("The pushes of a lane that wait")
struct PushQueueTests {
    private func batch(_ numbers: Range<Int>, _ urgency: PushUrgency = .routine) throws -> PendingBatch {
        PendingBatch(try Pushes.batch(numbers, urgency: urgency), continuation: nil)
    }

    @Test("go in the order: to channels, urgent, routine; of each those first that were given back")
    func order() throws {
        var queue = PushQueue()
        let routine = try batch(0..<2)
        let urgent = try batch(0..<2, .urgent)
        let channel = PendingBatch(try Pushes.channelPush(), continuation: nil)
        queue.append(routine)
        let first = try Pushes.required(queue.popFirst())
        #expect(first.batch === routine)
        queue.giveBack(first)
        queue.append(urgent)
        let second = try Pushes.required(queue.popFirst())
        #expect(second.batch === urgent)
        queue.append(channel)
        queue.giveBack(second)
        #expect(queue.count == 5)
        #expect(queue.counts[.urgent] == 2 && queue.counts[.routine] == 2 && queue.counts[.channel] == 1)
        var order: [(PushRank, Int)] = []
        while let push = queue.popFirst() { order.append((push.batch.rank, push.index)) }
        #expect(order.map(\.0) == [.channel, .urgent, .urgent, .routine, .routine])
        #expect(order.map(\.1) == [0, 0, 1, 0, 1])
        #expect(queue.isEmpty)
    }

    @Test("a withdrawn batch leaves with what was given back of it, and nothing else does")
    func withdraws() throws {
        var queue = PushQueue()
        let one = try batch(0..<5)
        let two = try batch(0..<3)
        queue.append(one)
        queue.append(two)
        let first = try Pushes.required(queue.popFirst())
        _ = queue.popFirst()
        queue.giveBack(first)
        let withdrawn = queue.withdraw(one).sorted()
        #expect(withdrawn == [0, 2, 3, 4])
        #expect(queue.count == 3)
        let again = queue.withdraw(one)
        #expect(again.isEmpty)
        let next = queue.popFirst()
        #expect(next?.batch === two)
        let rest = queue.withdraw(two)
        #expect(rest == [1, 2])
        #expect(queue.isEmpty)
        let last = queue.popFirst()
        #expect(last == nil)
    }

    @Test("a queue gives back what it was given, in order", arguments: [1, 1023, 1024, 5000])
    func fifo(count: Int) {
        var fifo = Fifo<Int>()
        var taken: [Int] = []
        for number in 0..<count {
            fifo.append(number)
            if number % 3 == 0, let first = fifo.popFirst() { taken.append(first) }
        }
        while let first = fifo.popFirst() { taken.append(first) }
        #expect(taken == Array(0..<count))
    }
}

@Suite("A histogram of latencies")
struct LatencyHistogramTests {
    @Test("keeps its relative error below a hundredth")
    func relativeError() {
        var value = 1
        while value < 3_600_000_000 {
            let bucket = LatencyHistogram.bucket(of: value)
            let upper = LatencyHistogram.upperBound(of: bucket)
            #expect(upper >= value)
            #expect(Double(upper - value) <= Double(value) / 100)
            #expect(bucket == 0 || LatencyHistogram.upperBound(of: bucket - 1) < value)
            value += 1 + value / 7
        }
    }

    @Test("tells quantiles of all loops together, and the exact maximum")
    func quantiles() {
        let histograms = [LatencyHistogram(), LatencyHistogram()]
        for milliseconds in 1...100 { histograms[milliseconds % 2].record(.milliseconds(milliseconds)) }
        let median = LatencyHistogram.quantile(0.5, of: histograms)
        #expect((50_000...50_500).contains(median))
        #expect(LatencyHistogram.quantile(1, of: histograms) == 100_000)
        #expect(histograms.map(\.count).reduce(0, +) == 100)
        #expect(LatencyHistogram.quantile(0.99, of: [LatencyHistogram()]) == 0)
    }
}
