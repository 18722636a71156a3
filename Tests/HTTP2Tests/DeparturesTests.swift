import EventLoop
import Glibc
import TestSupport
import Testing

@testable import HTTP2

@Suite("Whether a request has left its connection", .timeLimit(.minutes(5)))
struct DeparturesTests {
    /// Keeps what it is told.
    private final class Witness: DepartureWitness {
        private let calls = ThreadLock<[[Int]]>([])
        private let look: @Sendable () -> Void

        init(_ look: @escaping @Sendable () -> Void = {}) { self.look = look }

        var told: [[Int]] { calls.withLock { $0 } }

        func handedOut(_ numbers: [Int]) {
            look()
            calls.withLock { $0.append(numbers) }
        }
    }

    @Test("is told of each once, in the order of their bytes, and several at a time")
    func order() {
        let (first, second) = (Witness(), Witness())
        var departures = Departures()
        departures.watch(7, from: 100, by: first)
        departures.watch(8, from: 200, by: first)
        departures.watch(1, from: 300, by: second)
        departures.watch(9, from: 400, by: first)
        departures.depart(before: 100)
        #expect(first.told.isEmpty, "its first byte is still here")
        departures.depart(before: 201)
        #expect(first.told == [[7, 8]])
        departures.depart(before: 201)
        departures.depart(before: 1_000)
        #expect(first.told == [[7, 8], [9]])
        #expect(second.told == [[1]])
    }

    /// When the connection is closed.
    enum Close: CaseIterable {
        case inTheSameTurn, afterTheFlush
    }

    /// What was seen of one request.
    private struct Sight: Sendable {
        var told: [[Int]] = []
        var end: HTTP2StreamEnd?
        var bytesBefore = 0
        var bytesAfter = 0
    }

    @Test("says so before its bytes are with the kernel, and when the connection breaks", arguments: Close.allCases)
    func leaves(close: Close) async throws {
        let sight = try await withCheckedThrowingContinuation { (done: CheckedContinuation<Sight, any Error>) in
            TestLoops.near.perform {
                do { try Self.submit(close, done) } catch { done.resume(throwing: error) }
            }
        }
        switch close {
        case .inTheSameTurn:
            #expect(sight.end == .notSent)
            #expect(sight.told.isEmpty)
        case .afterTheFlush:
            #expect(sight.end == .lost)
            #expect(sight.told == [[42]])
            #expect(sight.bytesAfter >= sight.bytesBefore + 4_000, "it was told too late")
        }
    }

    /// The loop's thread alone touches it.
    private final class Record {
        var connection: HTTP2ClientConnection?
        var end: HTTP2StreamEnd?
    }

    private static func submit(_ close: Close, _ done: CheckedContinuation<Sight, any Error>) throws {
        let (near, far) = makeSocketPair()
        let bytesBefore = ThreadLock(0)
        let witness = Witness { bytesBefore.withLock { $0 = readable(far) } }
        let record = Record()
        let handlers = HTTP2ClientHandlers(
            ready: {
                guard let connection = record.connection else { return }
                _ = try? connection.submit(
                    HTTP2RequestTemplate(constant: [(":method", "POST"), (":path", "/")]),
                    HTTP2FieldValues(capacity: 1),
                    body: HTTP2Body([UInt8](repeating: 0x20, count: 4_000)),
                    deadline: .patient,
                    witness: (witness, 42)
                )
                switch close {
                case .inTheSameTurn: connection.close()
                case .afterTheFlush:
                    connection.flushSoon()
                    // Behind the connection's own step.
                    TestLoops.near.atEndOfTurn { connection.close() }
                }
            },
            ended: { _, end, _ in record.end = end },
            room: {},
            draining: { _ in },
            closed: { _ in
                let sight = Sight(
                    told: witness.told,
                    end: record.end,
                    bytesBefore: bytesBefore.withLock { $0 },
                    bytesAfter: readable(far)
                )
                // Only when the connection is through with its own end.
                TestLoops.near.atEndOfTurn {
                    _ = Glibc.close(far)
                    record.connection = nil
                    done.resume(returning: sight)
                }
            }
        )
        record.connection = try HTTP2ClientConnection(
            adopting: near,
            tls: nil,
            serverName: "",
            loop: TestLoops.near,
            by: .patient,
            configuration: .patient,
            handlers: handlers
        )
    }

    /// How many bytes wait at a descriptor.
    private static func readable(_ descriptor: Int32) -> Int {
        var count: Int32 = 0
        return ioctl(descriptor, UInt(FIONREAD), &count) == 0 ? Int(count) : 0
    }
}
