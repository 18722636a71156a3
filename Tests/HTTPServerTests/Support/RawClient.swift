import EventLoop
import Glibc
import HTTP2

/// A client that sends any bytes and keeps all it gets, pinned to the tests' loop.
actor RawClient {
    nonisolated let loop: EventLoop
    private var transport: Transport?
    private var descriptor: Int32 = -1
    private var received: [UInt8] = []
    private var isClosed = false
    private var waiter: CheckedContinuation<Void, Never>?

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    struct NoConnection: Error {}

    init(port: Int, reads: Bool = true) async throws {
        loop = TestLoops.client
        try connect(port: port, reads: reads)
    }

    private func connect(port: Int, reads: Bool) throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { throw NoConnection() }
        // Small, so that a server that writes much to a client that does not read is stuck early.
        var size: Int32 = 4096
        setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        let result = SocketAddress.loopback(port: port).withSockAddr { Glibc.connect(descriptor, $0, $1) }
        guard result == 0 else {
            Glibc.close(descriptor)
            throw NoConnection()
        }
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
        self.descriptor = descriptor
        transport = try Transport(
            adopting: descriptor,
            tls: nil,
            role: .client(serverName: "localhost"),
            loop: loop,
            handlers: TransportHandlers(
                handshakeDone: { _ in },
                bytes: { [self] bytes in
                    let copy = Array(bytes)
                    assumeIsolated { $0.got(copy) }
                },
                writable: { [self] in assumeIsolated { $0.wake() } },
                closed: { [self] _ in assumeIsolated { $0.ended() } }
            )
        )
        if !reads { transport?.pauseReading() }
    }

    private func got(_ bytes: [UInt8]) {
        received += bytes
        wake()
    }

    private func ended() {
        isClosed = true
        wake()
    }

    private func wake() {
        waiter?.resume()
        waiter = nil
    }

    func send(_ bytes: [UInt8]) {
        transport?.write(bytes)
    }

    func send(_ text: String) {
        send(Array(text.utf8))
    }

    func resumeReading() {
        transport?.resumeReading()
    }

    /// All that came so far, once `isEnough` says so or the server has closed.
    func receive(until isEnough: @Sendable ([UInt8]) -> Bool) async -> [UInt8] {
        while !isClosed, !isEnough(received) {
            // What came before the continuation was made woke nobody.
            await withCheckedContinuation { continuation in
                if isClosed || isEnough(received) { continuation.resume() } else { waiter = continuation }
            }
        }
        return received
    }

    /// The frames that came so far, once `isEnough` says so or the server has closed.
    func frames(until isEnough: @Sendable ([String]) -> Bool) async -> [String] {
        describeFrames(await receive { isEnough(describeFrames($0)) })
    }

    var receivedBytes: Int { received.count }

    /// Returns when the kernel has most of what was sent.
    func untilAllIsSent() async {
        while transport?.isBacklogged == true {
            await withCheckedContinuation { continuation in
                if transport?.isBacklogged == true { waiter = continuation } else { continuation.resume() }
            }
        }
    }

    /// All that came until the server closed.
    func receiveAll() async -> String {
        String(decoding: await receive { _ in false }, as: UTF8.self)
    }

    /// All that came until `text` stood in it.
    func receive(through text: String) async -> String {
        let bytes = await receive { String(decoding: $0, as: UTF8.self).contains(text) }
        return String(decoding: bytes, as: UTF8.self)
    }

    func close() {
        transport?.close()
        ended()
    }

    /// Sends `text`, shuts its own side down and goes on reading.
    func sendLast(_ text: String) {
        transport?.write(Array(text.utf8))
        transport?.flush()
        _ = shutdown(descriptor, Int32(SHUT_WR))
    }

    /// Closes when all that was sent has gone out.
    func closeAfterSending() {
        transport?.closeAfterWriting()
        ended()
    }

    isolated deinit { transport?.close() }
}
