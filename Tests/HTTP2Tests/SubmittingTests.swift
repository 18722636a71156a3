import EventLoop
import Glibc
import TestSupport
import Testing

@testable import HTTP2

@Suite("A client connection that is lost while requests are submitted")
struct SubmittingTests {
    /// Written by the loop's thread, read when it is done.
    private final class Record: @unchecked Sendable {  // The continuation orders the two threads.
        var begun: Set<Int> = []
        var unknown: [Int] = []
        var lost = 0
        var isClosed = false
        var connection: HTTP2ClientConnection?
    }

    @Test("tells of each request's end only after its owner knows the slot")
    func endsAfterSubmitting() async throws {
        let record = Record()
        await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
            TestLoops.near.perform {
                do { try Self.submit(to: record, done) } catch {
                    Issue.record(error)
                    done.resume()
                }
            }
        }
        #expect(record.begun.isEmpty)
        #expect(record.unknown.isEmpty)
        #expect(record.lost > 0)
        #expect(record.isClosed)
        record.connection = nil
    }

    /// Submits more than a record to a socket whose other end is gone, all in one turn.
    private static func submit(to record: Record, _ done: CheckedContinuation<Void, Never>) throws {
        var pair: [Int32] = [0, 0]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair) == 0)
        _ = fcntl(pair[0], F_SETFL, O_NONBLOCK)
        let other = pair[1]
        let handlers = HTTP2ClientHandlers(
            ready: {
                guard let connection = record.connection else { return }
                close(other)
                let template = HTTP2RequestTemplate(constant: [(":method", "POST"), (":path", "/")])
                let body = HTTP2Body([UInt8](repeating: 0x20, count: 4000))
                var submitted = 0
                while submitted < 50, connection.canSubmit(bodyBytes: body.count) {
                    guard
                        let slot = try? connection.submit(
                            template,
                            HTTP2FieldValues(capacity: 1),
                            body: body,
                            deadline: .patient
                        )
                    else { break }
                    record.begun.insert(slot)
                    submitted += 1
                }
            },
            ended: { slot, _, _ in
                if record.begun.remove(slot) == nil { record.unknown.append(slot) } else { record.lost += 1 }
            },
            room: {},
            draining: { _ in },
            closed: { _ in
                record.isClosed = true
                done.resume()
            }
        )
        record.connection = try HTTP2ClientConnection(
            adopting: pair[0],
            tls: nil,
            serverName: "",
            loop: TestLoops.near,
            by: .patient,
            configuration: .patient,
            handlers: handlers
        )
    }
}
