import EventLoop
import Glibc
import HTTP2

/// One end of a connection under test: keeps what comes in, and answers who waits for it.
actor TransportPeer {
    private let loop: EventLoop
    private var transport: Transport?
    private(set) var received: [UInt8] = []
    private(set) var alpn: String?
    private(set) var end: String?
    /// Is written whenever bytes come in.
    private var answer: [UInt8] = []
    private var waiters: [(isMet: (isolated TransportPeer) -> Bool, continuation: CheckedContinuation<Void, Never>)] =
        []

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    init(loop: EventLoop) {
        self.loop = loop
    }

    func adopt(_ descriptor: Int32, tls: TLSContext?, role: TransportRole) throws {
        transport = try Transport(
            adopting: descriptor,
            tls: tls,
            role: role,
            loop: loop,
            handlers: TransportHandlers(
                handshakeDone: {
                    self.alpn = $0 ?? "none"; self.changed()
                },
                bytes: {
                    self.received.append(contentsOf: $0)
                    if !self.answer.isEmpty { self.transport?.write(self.answer) }
                    self.changed()
                },
                writable: { self.changed() },
                closed: {
                    self.end = $0.description; self.changed()
                }
            )
        )
    }

    func write(_ bytes: [UInt8]) { transport?.write(bytes) }
    func answerAlways(_ answer: [UInt8]) { self.answer = answer }
    func pauseReading() { transport?.pauseReading() }
    func resumeReading() { transport?.resumeReading() }
    func close() { transport?.close() }
    func closeAfterWriting() { transport?.closeAfterWriting() }
    var pendingBytes: Int { transport?.pendingBytes ?? 0 }

    func until(_ isMet: @escaping @Sendable (isolated TransportPeer) -> Bool) async {
        await withCheckedContinuation { continuation in
            // Asked in here: other events may come before this body runs.
            if isMet(self) { return continuation.resume() }
            waiters.append((isMet, continuation))
        }
    }

    private func changed() {
        waiters.removeAll { waiter in
            guard waiter.isMet(self) else { return false }
            waiter.continuation.resume()
            return true
        }
    }

    isolated deinit { transport?.close() }
}

/// Two connected, non-blocking descriptors.
func makeSocketPair() -> (Int32, Int32) {
    var ends: [Int32] = [0, 0]
    let result = socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0, &ends)
    precondition(result == 0, "socketpair: \(errno)")
    return (ends[0], ends[1])
}
