internal import Glibc

/// A connected, non-blocking descriptor, as the kernel has it.
struct PlainSocket {
    let descriptor: Int32

    /// Who writes has gathered already.
    func sendSmallPiecesAtOnce() {
        var on: Int32 = 1
        _ = setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
    }

    /// Reads what there is, as far as `input` holds it.
    func read(into input: UnsafeMutableRawBufferPointer) -> TLSSession.Progress {
        while true {
            let count = Glibc.read(descriptor, input.baseAddress, input.count)
            if count > 0 { return .bytes(count) }
            if count == 0 { return .closed }
            switch errno {
            case EINTR: continue
            case EAGAIN, EWOULDBLOCK: return .wantsRead
            default: return .closed
            }
        }
    }

    /// Gives the kernel as much as it takes.
    func give(_ buffer: borrowing WriteBuffer) -> TLSSession.Progress {
        buffer.withFront(.max >> 1) { front in
            while true {
                let count = send(descriptor, front.baseAddress, front.count, Int32(MSG_NOSIGNAL))
                if count >= 0 { return .bytes(count) }
                switch errno {
                case EINTR: continue
                case EAGAIN, EWOULDBLOCK: return .wantsWrite
                default: return .closed
                }
            }
        }
    }

    /// The peer reads an end behind what was given.
    func endOutput() { _ = shutdown(descriptor, Int32(SHUT_WR)) }

    func close() { _ = Glibc.close(descriptor) }
}
