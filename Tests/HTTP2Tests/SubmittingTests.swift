import EventLoop
import Glibc
import TestSupport
import Testing

@testable import HTTP2

@Suite("A client connection that is lost while requests are submitted", .timeLimit(.minutes(5)))
struct SubmittingTests {
    /// What became of the requests, by slot.
    private struct Ends: Sendable {
        var begun: Set<Int> = []
        var unknown: [Int] = []
        var lost = 0
    }

    /// The loop's thread alone touches it.
    private final class Record {
        var ends = Ends()
        var connection: HTTP2ClientConnection?
    }

    /// What the connection is lost by.
    enum Loss: CaseIterable {
        case peerIsGone
        /// Its PING was due when the process was stopped.
        case pingIsOverdue
    }

    @Test("tells of each request's end only after its owner knows the slot", arguments: Loss.allCases)
    func endsAfterSubmitting(loss: Loss) async throws {
        let ends = try await withCheckedThrowingContinuation { (done: CheckedContinuation<Ends, any Error>) in
            TestLoops.near.perform {
                do { try Self.submit(loss, done) } catch { done.resume(throwing: error) }
            }
        }
        #expect(ends.begun.isEmpty)
        #expect(ends.unknown.isEmpty)
        #expect(ends.lost > 0)
    }

    /// Submits more than a record to a socket whose other end is gone or silent, all in one turn.
    private static func submit(_ loss: Loss, _ done: CheckedContinuation<Ends, any Error>) throws {
        let record = Record()
        var pair: [Int32] = [0, 0]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair) == 0)
        _ = fcntl(pair[0], F_SETFL, O_NONBLOCK)
        let other = pair[1]
        let handlers = HTTP2ClientHandlers(
            ready: {
                guard let connection = record.connection else { return }
                switch loss {
                case .peerIsGone: close(other)
                case .pingIsOverdue: if !connection.isAsked { connection.checkLiveness(now: .now) }
                }
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
                    record.ends.begun.insert(slot)
                    submitted += 1
                }
            },
            ended: { slot, _, _ in
                if record.ends.begun.remove(slot) == nil {
                    record.ends.unknown.append(slot)
                } else {
                    record.ends.lost += 1
                }
            },
            room: {},
            draining: { _ in },
            closed: { _ in
                // Only when the connection is through with its own end.
                TestLoops.near.atEndOfTurn {
                    if loss == .pingIsOverdue { close(other) }
                    record.connection = nil
                    done.resume(returning: record.ends)
                }
            }
        )
        var configuration = HTTP2ClientConfiguration.patient
        configuration.settingsPatience = .zero
        if loss == .pingIsOverdue { (configuration.idlePing, configuration.pingTimeout) = (.zero, .zero) }
        record.connection = try HTTP2ClientConnection(
            adopting: pair[0],
            tls: nil,
            serverName: "",
            loop: TestLoops.near,
            by: .patient,
            configuration: configuration,
            handlers: handlers
        )
    }
}
