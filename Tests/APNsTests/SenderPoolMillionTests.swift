import APNs
import APNsProtocol
import APNsSimulator
import TestSupport
import Testing

@Suite("A sender pool with a million pushes offered on one lane", .timeLimit(.minutes(3)))
struct SenderPoolMillionTests {
    @Test("channels' pushes overtake all of them, one after the other")
    func overtakesAMillion() async throws {
        try await withSimulator(configure: { $0.isLean = true }) { simulator in
            let configuration = try SenderPoolConfiguration.testing(simulator)
            try await withPool(configuration, LocalProviderTokens.testing(simulator)) { pool in
                // 2,000 batches of the same 500 recipients: making a million ids would be the test's longest part.
                let recipients = try Pushes.recipients(0..<500)
                let headers = PushHeaders.device(try Pushes.bundle(), priority: 5, expiration: 1_790_000_000)
                let payload = Pushes.payload(400)
                let tokens = Task {
                    await withTaskGroup(of: Void.self) { group in
                        for _ in 0..<2000 {
                            let batch = PushBatch(
                                lane: Pushes.lane,
                                urgency: .routine,
                                headers: headers,
                                payload: payload,
                                recipients: recipients,
                                deadline: .now + .seconds(120)
                            )
                            group.addTask { _ = await pool.send(batch) }
                        }
                    }
                }
                // The queue is at its bound, and most wait outside.
                await pool.until { $0.outside >= 700_000 }
                for _ in 0..<20 {
                    let outcomes = await pool.send(try Pushes.channelPush())
                    #expect(outcomes.count { if case .accepted = $0 { true } else { false } } == 1)
                }
                let counts = pool.counts
                // Most of the million had to wait meanwhile.
                #expect(counts.outside + counts.waiting + counts.inFlight > 500_000, "\(counts)")
                #expect(pool.urgentQueueTimes.map(\.count).reduce(0, +) == 20)
                tokens.cancel()
                await tokens.value
                #expect(pool.counts.waiting == 0 && pool.counts.outside == 0)
            }
        }
    }
}
