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

@Suite("The pushes of a lane that wait")
struct PushQueueTests {
    private func batch(_ numbers: Range<Int>, _ urgency: PushUrgency = .routine) throws -> PendingBatch {
        PendingBatch(try Pushes.batch(numbers, urgency: urgency), continuation: nil)
    }

    @Test(
        "go in the order: to channels, once, urgent, routine; of each those first that were given back"
    )
    func order() throws {
        var queue = PushQueue()
        let routine = try batch(0..<2)
        let urgent = try batch(0..<2, .urgent)
        let channel = PendingBatch(try Pushes.channelPush(), continuation: nil)
        let once = PendingBatch(try Pushes.batch(0..<1, urgency: .urgent, isOnce: true), continuation: nil)
        queue.append(routine)
        let first = try Pushes.required(queue.popFirst())
        #expect(first.batch === routine)
        queue.giveBack(first)
        queue.append(urgent)
        let second = try Pushes.required(queue.popFirst())
        #expect(second.batch === urgent)
        queue.append(once)
        queue.append(channel)
        queue.giveBack(second)
        #expect(queue.count == 6)
        #expect(
            queue.counts[.once] == 1 && queue.counts[.urgent] == 2 && queue.counts[.routine] == 2
                && queue.counts[.channel] == 1
        )
        var order: [(PushRank, Int)] = []
        while let push = queue.popFirst() { order.append((push.batch.rank, push.index)) }
        #expect(order.map(\.0) == [.channel, .once, .urgent, .urgent, .routine, .routine])
        #expect(order.map(\.1) == [0, 0, 0, 1, 0, 1])
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
