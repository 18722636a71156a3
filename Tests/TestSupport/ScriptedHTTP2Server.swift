package import EventLoop
internal import Glibc
package import HTTP2

/// An HTTP/2 server that a test plays frame by frame: it parses what comes, answers what it is told, and keeps no rules.
///
/// With TLS or without. One test's server; its connections are numbered from 0 in the order in which they came.
package actor ScriptedHTTP2Server {
    /// A frame as it came. Source: RFC 9113, 4.1.
    package struct Frame: Sendable, Equatable {
        package let connection: Int
        package let type: UInt8
        package let flags: UInt8
        package let stream: Int32
        package let payload: [UInt8]

        package var isRequest: Bool { type == 1 }
        package var isPingAck: Bool { type == 6 && flags & 1 == 1 }
        package var endsStream: Bool { type <= 1 && flags & 1 == 1 }
    }

    /// Sent on every new connection before anything else.
    package var greeting: [UInt8]
    /// Whether PINGs are answered.
    package var answersPings = true
    /// Whether complete requests are answered with 200 at once.
    package var answersRequests = false
    /// Told of every frame before anything else is done about it; true: nothing else is.
    package var react: (@Sendable (isolated ScriptedHTTP2Server, Frame) -> Bool)?
    package private(set) var frames: [Frame] = []
    package private(set) var connectionCount = 0
    /// Connections that the client has closed.
    package private(set) var closedCount = 0
    package nonisolated let port: Int

    private let loop: EventLoop
    private let tls: TLSContext?
    private let listener: Int32
    private var watch: Watch?
    private var transports: [Transport?] = []
    private var descriptors: [Int32] = []
    private var buffers: [[UInt8]] = []
    private var waiters: [Waiter] = []

    private struct Waiter {
        let isMet: @Sendable (isolated ScriptedHTTP2Server) -> Bool
        let continuation: CheckedContinuation<Void, Never>
    }

    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// Listens on a free port of 127.0.0.1.
    package static func start(
        on loop: EventLoop,
        greeting: [UInt8] = settings(),
        tls: TLSContext? = nil
    ) async throws(EventLoopError) -> ScriptedHTTP2Server {
        let server = try ScriptedHTTP2Server(loop: loop, greeting: greeting, tls: tls)
        try await server.listen()
        return server
    }

    private init(loop: EventLoop, greeting: [UInt8], tls: TLSContext?) throws(EventLoopError) {
        self.loop = loop
        self.tls = tls
        self.greeting = greeting
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
        self.listener = listener
        let bound = SocketAddress.loopback(port: 0).withSockAddr { bind(listener, $0, $1) }
        guard listener >= 0, bound == 0, Glibc.listen(listener, 64) == 0 else {
            throw .system(call: "listen", code: errno)
        }
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { _ = getsockname(listener, $0, &length) }
        }
        port = Int(UInt16(bigEndian: address.sin_port))
    }

    private func listen() throws(EventLoopError) {
        watch = try loop.watch(listener, for: .read) { _ in self.accept() }
    }

    // MARK: - The script

    package func set(answersPings: Bool? = nil, answersRequests: Bool? = nil, greeting: [UInt8]? = nil) {
        if let answersPings { self.answersPings = answersPings }
        if let answersRequests { self.answersRequests = answersRequests }
        if let greeting { self.greeting = greeting }
    }

    package func onFrame(_ react: @escaping @Sendable (isolated ScriptedHTTP2Server, Frame) -> Bool) {
        self.react = react
    }

    /// Requests so far, on one connection or on all.
    package func requests(on connection: Int? = nil) -> [Frame] {
        frames.filter { $0.isRequest && (connection == nil || $0.connection == connection) }
    }

    package func send(_ bytes: [UInt8], on connection: Int = 0) { transports[connection]?.write(bytes) }

    /// How many bytes of bodies the client's connection window has been widened by.
    package func windowUpdates(on connection: Int = 0) -> Int {
        frames.filter { $0.connection == connection && $0.type == 8 && $0.stream == 0 }
            .reduce(0) { sum, frame in sum + frame.payload.reduce(0) { $0 << 8 | Int($1) } }
    }

    /// A response; `status` 200 or one of those that have no place in HPACK's static table.
    package func respond(
        _ stream: Int32,
        status: Int = 200,
        fields: [(name: String, value: String)] = [],
        body: String = "",
        on connection: Int = 0
    ) {
        let block = Self.headerBlock(status: status, fields)
        send(Self.frame(type: 1, flags: body.isEmpty ? 5 : 4, stream: stream, block), on: connection)
        if !body.isEmpty { send(Self.frame(type: 0, flags: 1, stream: stream, Array(body.utf8)), on: connection) }
    }

    /// Ends a connection by a TCP reset.
    package func resetConnection(_ connection: Int) {
        var option = linger(l_onoff: 1, l_linger: 0)
        _ = setsockopt(
            descriptors[connection],
            SOL_SOCKET,
            SO_LINGER,
            &option,
            socklen_t(MemoryLayout<linger>.size)
        )
        closeConnection(connection)
    }

    /// Closes behind what was sent: that may still lie in this turn's gathering.
    package func closeConnection(_ connection: Int) {
        transports[connection]?.flush()
        transports[connection]?.close()
        transports[connection] = nil
    }

    /// Stops listening and closes every connection.
    package func stop() {
        for index in transports.indices { closeConnection(index) }
        guard let watch else { return }
        loop.unwatch(watch)
        self.watch = nil
        close(listener)
    }

    /// Returns when `isMet` holds; it is asked after every frame and connection.
    package func until(_ isMet: @escaping @Sendable (isolated ScriptedHTTP2Server) -> Bool) async {
        await withCheckedContinuation { continuation in
            // Asked in here: other events may come before this body runs.
            if isMet(self) { return continuation.resume() }
            waiters.append(Waiter(isMet: isMet, continuation: continuation))
        }
    }

    package static func frame(type: UInt8, flags: UInt8 = 0, stream: Int32 = 0, _ payload: [UInt8]) -> [UInt8] {
        let count = payload.count
        return [UInt8(count >> 16), UInt8(count >> 8 & 255), UInt8(count & 255), type, flags]
            + bigEndian(UInt32(stream)) + payload
    }

    package static func settings(_ values: [(id: UInt16, value: UInt32)] = []) -> [UInt8] {
        frame(type: 4, values.flatMap { [UInt8($0.id >> 8), UInt8($0.id & 255)] + bigEndian($0.value) })
    }

    package static func settings(streamLimit: UInt32) -> [UInt8] { settings([(3, streamLimit)]) }

    package static func goAway(lastStream: Int32, code: UInt32 = 0, debug: String = "") -> [UInt8] {
        frame(type: 7, bigEndian(UInt32(lastStream)) + bigEndian(code) + Array(debug.utf8))
    }

    package static func reset(_ stream: Int32, code: UInt32) -> [UInt8] {
        frame(type: 3, stream: stream, bigEndian(code))
    }

    package static func windowUpdate(_ bytes: UInt32, stream: Int32 = 0) -> [UInt8] {
        frame(type: 8, stream: stream, bigEndian(bytes))
    }

    /// Literal fields that enter no table (RFC 7541, 6.2.2), with values below 127 bytes unless `value` is longer.
    package static func headerBlock(status: Int, _ fields: [(name: String, value: String)]) -> [UInt8] {
        let first: [UInt8] = status == 200 ? [0x88] : [0x08, 0x03] + Array(String(status).utf8)
        return fields.reduce(into: first) { block, field in
            block += [0x00] + literal(field.name) + literal(field.value)
        }
    }

    /// A field that enters no table.
    package static func literal(_ name: String, _ value: String) -> [UInt8] { [0x00] + literal(name) + literal(value) }

    private static func literal(_ text: String) -> [UInt8] {
        let bytes = Array(text.utf8)
        guard bytes.count >= 127 else { return [UInt8(bytes.count)] + bytes }
        // RFC 7541, 5.1.
        var length: [UInt8] = [127]
        var rest = bytes.count - 127
        while rest >= 128 {
            length.append(UInt8(rest & 127) | 128)
            rest >>= 7
        }
        return length + [UInt8(rest)] + bytes
    }

    private static func bigEndian(_ value: UInt32) -> [UInt8] {
        [UInt8(value >> 24), UInt8(value >> 16 & 255), UInt8(value >> 8 & 255), UInt8(value & 255)]
    }

    // MARK: - Connections

    private func accept() {
        while true {
            let descriptor = Glibc.accept(listener, nil, nil)
            guard descriptor >= 0 else { return }
            _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
            let number = transports.count
            let handlers = TransportHandlers(
                handshakeDone: { _ in },
                bytes: { self.received($0, on: number) },
                writable: {},
                closed: { _ in
                    self.transports[number] = nil
                    self.closedCount += 1; self.changed()
                }
            )
            let transport = try? Transport(
                adopting: descriptor,
                tls: tls,
                role: .server,
                loop: loop,
                handlers: handlers
            )
            transports.append(transport)
            descriptors.append(descriptor)
            buffers.append([])
            connectionCount += 1
            transport?.write(greeting)
            changed()
        }
    }

    private func received(_ bytes: UnsafeRawBufferPointer, on connection: Int) {
        buffers[connection].append(contentsOf: bytes)
        let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)
        if buffers[connection].starts(with: preface) { buffers[connection].removeFirst(preface.count) }
        var start = 0
        let buffer = buffers[connection]
        while buffer.count - start >= 9 {
            let count = Int(buffer[start]) << 16 | Int(buffer[start + 1]) << 8 | Int(buffer[start + 2])
            guard buffer.count - start >= 9 + count else { break }
            let stream = buffer[start + 5..<start + 9].reduce(Int32(0)) { $0 << 8 | Int32($1) }
            let frame = Frame(
                connection: connection,
                type: buffer[start + 3],
                flags: buffer[start + 4],
                stream: stream,
                payload: Array(buffer[start + 9..<start + 9 + count])
            )
            start += 9 + count
            took(frame)
        }
        buffers[connection].removeFirst(start)
        changed()
    }

    private func took(_ frame: Frame) {
        frames.append(frame)
        if react?(self, frame) == true { return }
        switch frame.type {
        case 4 where frame.flags & 1 == 0: send(Self.frame(type: 4, flags: 1, []), on: frame.connection)
        case 6 where frame.flags & 1 == 0 && answersPings:
            send(Self.frame(type: 6, flags: 1, frame.payload), on: frame.connection)
        default:
            if frame.endsStream, answersRequests { respond(frame.stream, on: frame.connection) }
        }
    }

    private func changed() {
        waiters.removeAll { waiter in
            guard waiter.isMet(self) else { return false }
            waiter.continuation.resume()
            return true
        }
    }
}
