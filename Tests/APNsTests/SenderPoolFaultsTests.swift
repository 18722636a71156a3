import APNs
import APNsProtocol
import Synchronization
import TestSupport
import Testing

/// A server that does something at random with each request, and remembers what it has said of each push.
///
/// A push is known by the number in its payload: every batch here has one recipient.
private final class FaultyServer: Sendable {
    struct Memory {
        var random: SeededRandom
        /// Bodies that came, by push: more than one where it was sent again.
        var seen: [Int: Int] = [:]
        /// Whole answers that were written, by push.
        var accepted: [Int: Int] = [:]
        var refused: [Int: Int] = [:]
        /// Requests that wait for a later one.
        var late: [(stream: Int32, push: Int, connection: Int)] = []
        /// Connections that this server has broken.
        var broken: Set<Int> = []
        /// The highest stream that was taken up, by connection: what a GOAWAY may name.
        var highest: [Int: Int32] = [:]
        /// The last stream of a GOAWAY, by connection: those above are not answered any more.
        var last: [Int: Int32] = [:]
    }

    let memory: Mutex<Memory>
    let faults: Int

    /// - Parameters:
    ///   - seed: Of the faults.
    ///   - faults: Of 100 requests, how many meet one.
    init(seed: UInt64, faults: Int) {
        memory = Mutex(Memory(random: SeededRandom(seed)))
        self.faults = faults
    }

    /// The push that a body carries: the number between its last two quotes.
    static func number(_ body: [UInt8]) -> Int? {
        let parts = String(decoding: body, as: UTF8.self).split(separator: "\"")
        return parts.dropLast().last.flatMap { Int($0) }
    }

    static func payload(_ number: Int) -> [UInt8] {
        Array(#"{"aps":{"timestamp":1790000000,"event":"update","content-state":{"clock":"\#(number)"}}}"#.utf8)
    }

    func took(_ frame: ScriptedHTTP2Server.Frame, _ server: isolated ScriptedHTTP2Server) -> Bool {
        guard frame.type == 0 else { return false }
        guard frame.endsStream, let push = Self.number(frame.payload) else { return true }
        memory.withLock { memory in
            guard !memory.broken.contains(frame.connection), frame.stream <= memory.last[frame.connection] ?? .max
            else { return }
            memory.seen[push, default: 0] += 1
            memory.highest[frame.connection] = max(memory.highest[frame.connection] ?? 0, frame.stream)
            server.send(ScriptedHTTP2Server.windowUpdate(UInt32(frame.payload.count)), on: frame.connection)
            let isFault = Int.random(in: 0..<100, using: &memory.random) < faults
            let fault = isFault ? Int.random(in: 0..<12, using: &memory.random) : -1
            act(fault, frame, push, server, &memory)
            // Some that were late are answered now.
            if Int.random(in: 0..<3, using: &memory.random) == 0 {
                for late in memory.late where !memory.broken.contains(late.connection) {
                    answer(late.stream, late.push, on: late.connection, server, &memory)
                }
                memory.late = []
            }
        }
        return true
    }

    private func answer(
        _ stream: Int32,
        _ push: Int,
        on connection: Int,
        _ server: isolated ScriptedHTTP2Server,
        _ memory: inout Memory
    ) {
        memory.accepted[push, default: 0] += 1
        server.respond(stream, on: connection)
    }

    private func act(
        _ fault: Int,
        _ frame: ScriptedHTTP2Server.Frame,
        _ push: Int,
        _ server: isolated ScriptedHTTP2Server,
        _ memory: inout Memory
    ) {
        typealias Frames = ScriptedHTTP2Server
        let connection = frame.connection
        let stream = frame.stream
        func refuse(_ status: Int, _ body: String) {
            memory.refused[push, default: 0] += 1
            server.respond(stream, status: status, body: body, on: connection)
        }
        switch fault {
        case 0: server.send(Frames.reset(stream, code: 7), on: connection)
        case 1:
            server.send(Frames.reset(stream, code: UInt32.random(in: 0...13, using: &memory.random)), on: connection)
        case 2: refuse(410, #"{"reason":"Unregistered","timestamp":5}"#)
        case 3: refuse(503, #"{"reason":"ServiceUnavailable"}"#)
        case 4: refuse(400, "no JSON")
        case 5: memory.late.append((stream, push, connection))
        case 6:
            let last = Bool.random(using: &memory.random) ? memory.highest[connection] ?? 0 : max(0, stream - 4)
            memory.last[connection] = last
            memory.late.removeAll { $0.connection == connection && $0.stream > last }
            server.send(Frames.goAway(lastStream: last, debug: #"{"reason":"Shutdown"}"#), on: connection)
            if last >= stream { answer(stream, push, on: connection, server, &memory) }
        case 7:
            memory.broken.insert(connection)
            server.closeConnection(connection)
        case 8:
            memory.broken.insert(connection)
            server.resetConnection(connection)
        case 9:
            let limit = UInt32.random(in: 1...50, using: &memory.random)
            server.send(Frames.settings(streamLimit: limit), on: connection)
            answer(stream, push, on: connection, server, &memory)
        case 10:
            // A status, and then nothing more of the stream.
            server.send(
                Frames.frame(type: 1, flags: 4, stream: stream, Frames.headerBlock(status: 400, [])),
                on: connection
            )
            server.send(Frames.reset(stream, code: 2), on: connection)
        case 11:
            server.send(Frames.frame(type: 0x2A, stream: stream, [1, 2, 3]), on: connection)
            answer(stream, push, on: connection, server, &memory)
        default: answer(stream, push, on: connection, server, &memory)
        }
    }
}

@Suite("A sender pool under random faults", .timeLimit(.minutes(3)))
struct SenderPoolFaultsTests {
    @Test(
        "every push ends once, as the server knows it, and the sums add up",
        arguments: 1...12 as ClosedRange<UInt64>,
        [5, 60]
    )
    func keepsSums(seed: UInt64, faults: Int) async throws {
        let pushes = 400
        let faulty = FaultyServer(seed: seed, faults: faults)
        try await withScriptedPool(greeting: ScriptedHTTP2Server.settings(streamLimit: 50)) { configuration in
            configuration.connectionsPerLane = 3
            configuration.queueLimit = 50
            configuration.resendLimit = 3
            configuration.firstReconnect = .milliseconds(1)
            configuration.longestReconnect = .milliseconds(5)
        } _: { server, pool in
            await server.onFrame { faulty.took($1, $0) }
            let batches = try (0..<pushes).map { number in
                PushBatch(
                    lane: Pushes.lane,
                    urgency: number % 5 == 0 ? .urgent : .routine,
                    headers: .device(try Pushes.bundle(), priority: 5, expiration: 1_790_000_000),
                    payload: FaultyServer.payload(number),
                    recipients: try Pushes.recipients(number..<number + 1),
                    // A request that is late may never be answered.
                    deadline: .now + .seconds(3)
                )
            }
            let outcomes = try await withThrowingTaskGroup(of: (Int, [Outcome]).self) { group in
                for (number, batch) in batches.enumerated() { group.addTask { (number, await pool.send(batch)) } }
                return try await group.reduce(into: [Int: [Outcome]]()) { $0[$1.0] = $1.1 }
            }
            #expect(outcomes.count == pushes)
            let memory = faulty.memory.withLock { ($0.seen, $0.accepted, $0.refused) }
            for number in 0..<pushes {
                let outcome = try #require(outcomes[number]?.first)
                #expect(outcomes[number]?.count == 1)
                let (accepted, refused) = (memory.1[number] ?? 0, memory.2[number] ?? 0)
                switch outcome {
                case .accepted: #expect(accepted == 1 && refused == 0, "\(number)")
                // Written, perhaps to a connection that was broken already: any of it may be true.
                case .unknown: break
                case .notProcessed: #expect(accepted == 0 && refused == 0, "\(number)")
                default: #expect(refused == 1 && accepted == 0, "\(number): \(outcome)")
                }
                // Nothing that an answer was written for went out again.
                #expect(accepted + refused <= 1, "\(number)")
            }
            let counts = pool.counts
            let flat = outcomes.values.flatMap(\.self)
            #expect(counts.ended == pushes)
            #expect(counts.accepted == flat.count { $0 == .accepted(uniqueID: nil) })
            #expect(counts.unknown == flat.count { if case .unknown = $0 { true } else { false } })
            #expect(counts.notProcessed == flat.count { $0 == .notProcessed })
            #expect(counts.waiting == 0 && counts.outside == 0 && counts.inFlight == 0)
            #expect(memory.0.values.reduce(0, +) <= pushes + counts.resent)
            #expect(pool.latencies.map(\.count).reduce(0, +) == pushes)
            await pool.drain(by: .patient)
            let last = pool.counts
            #expect(last.connections == 0)
            // Each that was opened is closed for some reason; attempts that failed come on top.
            #expect(last.connectionsClosed.values.reduce(0, +) >= last.connectionsOpened)
        }
    }
}
