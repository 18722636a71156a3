import APNs
import APNsProtocol
import APNsSimulator
import TestSupport
import Testing

@Suite("A sender pool against the simulator", .timeLimit(.minutes(5)))
struct SenderPoolTests {
    @Test("sends a batch and gets one outcome for each push, in order")
    func sendsBatch() async throws {
        let rules = #"""
            {"rules":[{"on":{"token":"\#(TestTokens.token(3))"},"do":{"status":410,"reason":"Unregistered","timestamp":7}}]}
            """#
        try await withSimulator(faults: rules) { simulator in
            let outcomes = try await withPool(.testing(simulator), LocalProviderTokens.testing(simulator)) { pool in
                try await pool.send(Pushes.batch(0..<2000))
            }
            try #require(outcomes.count == 2000)
            #expect(outcomes[3] == .tokenDead(asOfMilliseconds: 7))
            #expect(outcomes.enumerated().filter { $0.element != .accepted(uniqueID: nil) }.map(\.offset) == [3])
            let counts = await simulator.counts
            #expect(counts.doubled == 0)
            #expect(counts.streamLimitBroken == 0)
        }
    }

    @Test("sends single pushes and broadcasts")
    func sendsSingles() async throws {
        try await withSimulator { simulator in
            let configuration = try SenderPoolConfiguration.testing(simulator)
            let tokens = try LocalProviderTokens.testing(simulator)
            let bundle = try Pushes.bundle()
            let channels = ChannelManagement(configuration: configuration, providerTokens: tokens)
            func manage(_ request: ChannelRequest) async -> ChannelAnswer {
                await channels.answer(
                    to: request,
                    environment: .production,
                    credential: Pushes.credential,
                    id: APNsID(seed: Array(repeating: 1, count: 16), index: 1),
                    by: .patient
                )
            }
            guard case .created(let channel) = await manage(.create(bundle, .mostRecentMessageStored)) else {
                Issue.record("no channel")
                return
            }
            #expect(await manage(.list(bundle)) == .listed([channel]))
            try await withPool(configuration, tokens) { pool in
                let broadcast = await pool.send(
                    SinglePush(
                        lane: LaneKey(environment: .production, role: .broadcast, credential: Pushes.credential),
                        urgency: .urgent,
                        headers: .broadcast(priority: 10, expiration: 0),
                        payload: Pushes.payload(200),
                        recipient: Recipient(
                            route: .broadcast(bundle, channel),
                            id: APNsID(seed: Array(repeating: 2, count: 16), index: 1)
                        ),
                        deadline: .patient
                    )
                )
                guard case .accepted(let uniqueID) = broadcast else {
                    Issue.record("\(broadcast)")
                    return
                }
                #expect(uniqueID != nil)
            }
            #expect(await manage(.delete(bundle, channel)) == .deleted)
            #expect(await manage(.delete(bundle, channel)) == .deleted)
            await channels.close()
        }
    }

    @Test("sends what lies above a GOAWAY's last stream again, and nothing twice", arguments: [21, 1, 99])
    func survivesGoAway(lastStream: Int) async throws {
        let rules =
            #"{"rules":[{"on":{"route":"device","times":1},"do":{"goaway":{"after_streams":50,"last_stream":"#
            + "\(lastStream)" + #","debug":"{\"reason\":\"Shutdown\"}"}}}]}"#
        try await withSimulator(faults: rules) { simulator in
            var configuration = try SenderPoolConfiguration.testing(simulator)
            // The simulator waits for its fifty streams with answers to those above the last.
            configuration.startsSlowly = false
            let counts = try await withPool(configuration, LocalProviderTokens.testing(simulator)) { pool in
                let outcomes = try await pool.send(Pushes.batch(0..<500))
                #expect(outcomes.allSatisfy { $0 == .accepted(uniqueID: nil) })
                return pool.counts
            }
            let seen = await simulator.counts
            #expect(seen.doubled == 0)
            #expect(seen.requests["device"] == 500)
            #expect(counts.accepted == 500)
            #expect(counts.connectionsOpened > 1)
            if lastStream < 99 { #expect(counts.resent > 0) }
        }
    }

    @Test("sends refused streams again, and nothing twice")
    func survivesRefusedStreams() async throws {
        let rules = #"{"rules":[{"on":{"route":"device","share":0.2,"times":60},"do":{"reset":"REFUSED_STREAM"}}]}"#
        try await withSimulator(faults: rules) { simulator in
            let counts = try await withPool(.testing(simulator), LocalProviderTokens.testing(simulator)) { pool in
                let outcomes = try await pool.send(Pushes.batch(0..<400))
                #expect(outcomes.allSatisfy { $0 == .accepted(uniqueID: nil) })
                return pool.counts
            }
            #expect(await simulator.counts.doubled == 0)
            #expect(counts.resent > 0)
            #expect(counts.accepted == 400)
        }
    }

    @Test("tells what it does not know when a connection goes silent, and goes on over another")
    func survivesSilence() async throws {
        let rules = #"{"rules":[{"on":{"route":"device","skip":20,"times":1},"do":{"silence":true}}]}"#
        try await withSimulator(faults: rules) { simulator in
            var configuration = try SenderPoolConfiguration.testing(simulator)
            configuration.busyPing = .milliseconds(200)
            // Long enough for a busy machine's answer on the connections that are not silent.
            configuration.pingTimeout = .milliseconds(1500)
            try await withPool(configuration, LocalProviderTokens.testing(simulator)) { pool in
                let outcomes = try await pool.send(Pushes.batch(0..<300))
                let unknown = outcomes.indices.filter { if case .unknown = outcomes[$0] { true } else { false } }
                let accepted = outcomes.count { $0 == .accepted(uniqueID: nil) }
                // One outcome each; nothing was sent twice by the pool itself.
                #expect(!unknown.isEmpty)
                #expect(accepted + unknown.count == 300)
                #expect(await simulator.counts.doubled == 0)
                // The caller decides: sent again, with the same ids, they arrive.
                for index in unknown {
                    let again = try await pool.send(Pushes.batch(index..<index + 1))
                    #expect(again == [.accepted(uniqueID: nil)])
                }
            }
        }
    }

    @Test("ends what a silent connection holds at the deadline")
    func keepsDeadlines() async throws {
        let rules = #"{"rules":[{"on":{"route":"device","skip":20},"do":{"silence":true}}]}"#
        try await withSimulator(faults: rules) { simulator in
            try await withPool(.testing(simulator), LocalProviderTokens.testing(simulator)) { pool in
                let begin = ContinuousClock.now
                let outcomes = try await pool.send(Pushes.batch(0..<300, deadline: .milliseconds(500)))
                #expect(begin.duration(to: .now) < .seconds(20))
                #expect(outcomes.count == 300)
                for outcome in outcomes {
                    switch outcome {
                    case .accepted, .unknown, .notProcessed: break
                    default: Issue.record("\(outcome)")
                    }
                }
            }
        }
    }

    @Test("obeys the stream limit that falls to one after a refusal")
    func followsFallingLimit() async throws {
        let rules = #"""
            {"rules":[{"on":{"route":"device","share":0.05},"do":{"status":400,"reason":"BadDeviceToken"}}]}
            """#
        try await withSimulator(faults: rules) { simulator in
            let outcomes = try await withPool(.testing(simulator), LocalProviderTokens.testing(simulator)) { pool in
                try await pool.send(Pushes.batch(0..<1000))
            }
            let refused = outcomes.count { $0 == .tokenRefused("BadDeviceToken") }
            #expect(refused > 0)
            #expect(outcomes.count { $0 == .accepted(uniqueID: nil) } + refused == 1000)
            #expect(await simulator.counts.doubled == 0)
        }
    }

    @Test("signs anew once when APNs calls the token expired")
    func renewsExpiredToken() async throws {
        try await withSimulator { simulator in
            // Signed 70 minutes ago; the clock is right when it is asked again.
            let clock = SteppingClock(first: -70 * 60)
            let tokens = try LocalProviderTokens.testing(simulator, now: { clock.next() })
            let outcomes = try await withPool(.testing(simulator), tokens) { pool in
                try await pool.send(Pushes.batch(0..<100))
            }
            #expect(outcomes.allSatisfy { $0 == .accepted(uniqueID: nil) })
        }
    }

    @Test("refuses a payload over the limit before any request")
    func refusesLargePayload() async throws {
        try await withSimulator { simulator in
            try await withPool(.testing(simulator), LocalProviderTokens.testing(simulator)) { pool in
                let refused = try await pool.send(Pushes.batch(0..<2, payloadBytes: 4097))
                #expect(refused == [.tooLarge, .tooLarge])
                #expect(pool.counts.connectionsOpened == 0)
                let sent = try await pool.send(Pushes.batch(0..<1, payloadBytes: 4096))
                #expect(sent == [.accepted(uniqueID: nil)])
            }
        }
    }

    @Test("ends what cannot be sent as not processed, when nothing listens")
    func survivesUnreachableService() async throws {
        let simulator = try await APNsSimulator.start(SimulatorConfiguration())
        var configuration = try SenderPoolConfiguration.testing(simulator)
        let (sentences, report) = AsyncStream.makeStream(of: String.self)
        configuration.report = { report.yield($0) }
        let tokens = try LocalProviderTokens.testing(simulator)
        await simulator.stop()
        try await withPool(configuration, tokens) { pool in
            let outcomes = try await pool.send(Pushes.batch(0..<10, deadline: .seconds(2)))
            #expect(outcomes == Array(repeating: .notProcessed, count: 10))
            // Jittered back-off: 100, 200 ms and so on, not hundreds of attempts.
            #expect(pool.counts.connectionsFailed <= 8)
            report.finish()
            // However often it failed, it was said once.
            let said = await sentences.reduce(into: []) { $0.append($1) }
            #expect(said.count <= 1)
            #expect(said.allSatisfy { $0.hasSuffix("Connection refused") })
        }
    }

    @Test("lets batches wait outside while its queue is full, and loses none")
    func appliesBackPressure() async throws {
        try await withSimulator { simulator in
            var configuration = try SenderPoolConfiguration.testing(simulator)
            configuration.queueLimit = 100
            try await withPool(configuration, LocalProviderTokens.testing(simulator)) { pool in
                let accepted = try await withThrowingTaskGroup(of: Int.self) { group in
                    for number in 0..<40 {
                        let urgency: PushUrgency = number % 4 == 0 ? .urgent : .routine
                        let batch = try Pushes.batch(number * 50..<number * 50 + 50, urgency: urgency)
                        group.addTask { await pool.send(batch).count { $0 == .accepted(uniqueID: nil) } }
                    }
                    return try await group.reduce(0, +)
                }
                #expect(accepted == 2000)
                #expect(pool.counts.waiting == 0)
                #expect(pool.counts.inFlight == 0)
            }
            #expect(await simulator.counts.doubled == 0)
        }
    }

    @Test("keeps its sums under all faults at once", arguments: [1, 2, 3] as [UInt64])
    func keepsSums(seed: UInt64) async throws {
        let rules = #"""
            {"rules":[
              {"on":{"route":"device","share":0.02},"do":{"reset":"REFUSED_STREAM"}},
              {"on":{"route":"device","share":0.01},"do":{"status":410,"reason":"Unregistered","timestamp":1}},
              {"on":{"route":"device","share":0.005},"do":{"status":503,"reason":"Shutdown"}},
              {"on":{"route":"device","share":0.005},"do":{"delay_ms":30}},
              {"on":{"route":"device","skip":500,"times":2},"do":{"goaway":{"after_streams":50,"last_stream":21}}},
              {"on":{"route":"device","skip":1500,"times":2},"do":{"close":true}},
              {"on":{"route":"device","skip":2500,"times":1},"do":{"silence":true}}
            ]}
            """#
        try await withSimulator(faults: rules, configure: { $0.seed = seed }) { simulator in
            var configuration = try SenderPoolConfiguration.testing(simulator)
            configuration.busyPing = .milliseconds(200)
            configuration.pingTimeout = .milliseconds(300)
            configuration.streamsPerConnection = 100
            let (outcomes, counts) = try await withPool(
                configuration,
                LocalProviderTokens.testing(simulator)
            ) { pool in
                let outcomes = try await withThrowingTaskGroup(of: [Outcome].self) { group in
                    for number in 0..<40 {
                        let batch = try Pushes.batch(number * 100..<number * 100 + 100, deadline: Patience.long)
                        group.addTask { await pool.send(batch) }
                    }
                    return try await group.reduce(into: []) { $0 += $1 }
                }
                return (outcomes, pool.counts)
            }
            #expect(outcomes.count == 4000)
            let accepted = outcomes.count { $0 == .accepted(uniqueID: nil) }
            let dead = outcomes.count { $0 == .tokenDead(asOfMilliseconds: 1) }
            let unknown = outcomes.count { if case .unknown = $0 { true } else { false } }
            #expect(accepted + dead + unknown == 4000)
            #expect(counts.accepted == accepted)
            #expect(counts.waiting == 0 && counts.inFlight == 0)
            #expect(counts.resent > 0 && dead > 0 && unknown > 0)
            let seen = await simulator.counts
            #expect(seen.doubled == 0)
            // What was accepted was seen; of the unknown, any number was.
            let answered = seen.answers["200"] ?? 0
            #expect(answered >= accepted && answered <= accepted + unknown)
        }
    }
}
