import EventLoop
import HTTP2

/// The lean connections of one loop, pinned to it.
actor LeanLoop {
    nonisolated let loop: EventLoop
    private let sink: LeanSink
    private let tls: TLSContext
    private var connections: [ObjectIdentifier: LeanConnection] = [:]

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    init(_ loop: EventLoop, sink: LeanSink, tls: TLSContext) {
        self.loop = loop
        self.sink = sink
        self.tls = tls
    }

    func adopt(_ descriptor: Int32, _ settings: LeanSettings) {
        let connection = try? LeanConnection(adopting: descriptor, tls: tls, on: loop, sink: sink, settings) {
            [weak self] connection in
            // Unsafe because the compiler does not know that a connection ends on its loop.
            nonisolated(unsafe) let connection = connection
            self?.assumeIsolated { $0.ended(connection) }
        }
        guard let connection else { return }
        connections[ObjectIdentifier(connection)] = connection
        sink.note {
            $0.connections += 1
            $0.openConnections += 1
        }
    }

    private func ended(_ connection: LeanConnection) {
        guard connections.removeValue(forKey: ObjectIdentifier(connection)) != nil else { return }
        sink.note { $0.openConnections -= 1 }
    }

    /// Does something to every connection: close, reset, silence or GOAWAY. Returns to how many.
    func disturb(_ action: FaultAction) -> Int {
        let all = Array(connections.values)
        for connection in all { connection.disturb(action) }
        return all.count
    }

    /// Closes every connection at once.
    func closeConnections() {
        for connection in connections.values { connection.close() }
    }
}
