package import EventLoop

/// Which end of a connection we are.
package enum TransportRole: Sendable {
    /// We connected; the certificate must be for this name.
    case client(serverName: String)
    case server
}

/// Why a transport came to its end, other than by its owner's `close()`.
package enum TransportCloseReason: Sendable, CustomStringConvertible {
    /// The peer closed, in whatever manner.
    case closedByPeer
    /// `errno` of a failed system call.
    case system(Int32)
    case tls(TLSError)

    package var description: String {
        switch self {
        case .closedByPeer: "closed by the peer"
        case .system(let code): "system error \(code)"
        case .tls(let error): error.description
        }
    }
}

/// What a transport tells its owner, always on the loop's thread.
///
/// The owner may call the transport from within each of them, `close()` included.
package struct TransportHandlers {
    /// TLS is up; with the protocol that ALPN settled on. Not called without TLS.
    package var handshakeDone: (_ alpn: String?) -> Void
    /// Bytes of the peer, valid during the call only.
    package var bytes: (UnsafeRawBufferPointer) -> Void
    /// After ``Transport/isBacklogged`` was true: there is room again.
    package var writable: () -> Void
    /// ``Transport/departedBytes`` has grown: the kernel gets those bytes when this returns, so nothing may be called from it.
    package var departing: () -> Void
    /// Without TLS: the peer will send nothing more, and may still be reading. True: it is let, and who says so closes.
    package var inputEnded: () -> Bool
    /// Once, and nothing after it. Not called for the owner's own `close()`.
    package var closed: (TransportCloseReason) -> Void

    package init(
        handshakeDone: @escaping (_ alpn: String?) -> Void,
        bytes: @escaping (UnsafeRawBufferPointer) -> Void,
        writable: @escaping () -> Void,
        departing: @escaping () -> Void = {},
        inputEnded: @escaping () -> Bool = { false },
        closed: @escaping (TransportCloseReason) -> Void
    ) {
        self.handshakeDone = handshakeDone
        self.bytes = bytes
        self.writable = writable
        self.departing = departing
        self.inputEnded = inputEnded
        self.closed = closed
    }
}

/// Why a transport could not begin.
package enum TransportError: Error, Sendable {
    case tls(TLSError)
    case loop(EventLoopError)
}
