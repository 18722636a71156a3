internal import COpenSSL
internal import Glibc

/// Owns one `SSL`, which reads from a descriptor that it does not own and writes its records into ``output``. Lives inside
/// one ``Transport``, on one thread.
struct TLSSession: ~Copyable {
    /// What a call came to.
    enum Progress: Equatable {
        case bytes(Int)
        case wantsRead
        case wantsWrite
        case closed
        case failed(TLSError)
    }

    private let ssl: OpaquePointer
    /// Keeps the ALPN callback's list alive.
    private let context: TLSContext
    /// What OpenSSL's callbacks have told.
    private let notes: TLSNotes
    /// What the peer is to be sent.
    let output = TLSOutput()

    /// - Throws: OpenSSL's own words, when it has no memory.
    init(adopting ssl: OpaquePointer, descriptor: Int32, context: TLSContext, notes: TLSNotes) throws(TLSError) {
        self.ssl = ssl
        self.context = context
        self.notes = notes
        try notes.attach(to: ssl)
        guard let reading = BIO_new_socket(descriptor, BIO_NOCLOSE) else { throw .library(drainTLSErrors()) }
        SSL_set0_rbio(ssl, reading)
        guard let writing = output.makeBIO() else { throw .library(drainTLSErrors()) }
        SSL_set0_wbio(ssl, writing)
    }

    deinit { SSL_free(ssl) }

    /// Bytes that the peer sent and OpenSSL has already taken from the descriptor: epoll will not tell of them.
    var hasBufferedInput: Bool { SSL_has_pending(ssl) == 1 }

    /// The protocol that ALPN settled on, if any.
    var negotiatedProtocol: String? {
        var name: UnsafePointer<UInt8>?
        var count: UInt32 = 0
        SSL_get0_alpn_selected(ssl, &name, &count)
        guard let name, count > 0 else { return nil }
        return String(decoding: UnsafeBufferPointer(start: name, count: Int(count)), as: UTF8.self)
    }

    /// `.bytes(0)` when the handshake is complete.
    mutating func handshake() -> Progress {
        ERR_clear_error()
        let result = SSL_do_handshake(ssl)
        if result == 1 { return .bytes(0) }
        let verdict = SSL_get_verify_result(ssl)
        let progress = progress(of: result)
        if case .failed = progress, verdict != Int(X509_V_OK) {
            let reason = notes.trouble?.sentence(now: Int64(time(nil)))
            return .failed(
                .certificateRefused(reason: reason ?? String(cString: X509_verify_cert_error_string(verdict)))
            )
        }
        return progress
    }

    mutating func read(into buffer: UnsafeMutableRawBufferPointer) -> Progress {
        ERR_clear_error()
        let count = SSL_read(ssl, buffer.baseAddress, Int32(clamping: buffer.count))
        if notes.isRenegotiationAsked {
            _ = drainTLSErrors()
            return .failed(.renegotiationAsked)
        }
        return count > 0 ? .bytes(Int(count)) : progress(of: count)
    }

    /// Makes one record of the first bytes, at most 16 KB of them, and puts it into ``output``.
    mutating func write(_ bytes: UnsafeRawBufferPointer) -> Progress {
        ERR_clear_error()
        let count = SSL_write(ssl, bytes.baseAddress, Int32(clamping: bytes.count))
        return count > 0 ? .bytes(Int(count)) : progress(of: count)
    }

    /// Puts close_notify into ``output``; nobody waits for the peer's.
    mutating func shutDown() {
        ERR_clear_error()
        if SSL_is_init_finished(ssl) == 1 { _ = SSL_shutdown(ssl) }
        _ = drainTLSErrors()
    }

    private func progress(of result: Int32) -> Progress {
        let code = SSL_get_error(ssl, result)
        let text = drainTLSErrors()
        return switch code {
        case SSL_ERROR_WANT_READ: .wantsRead
        case SSL_ERROR_WANT_WRITE: .wantsWrite
        case SSL_ERROR_ZERO_RETURN: .closed
        case SSL_ERROR_SYSCALL where text.isEmpty: .closed
        case SSL_ERROR_SSL where text == "unexpected eof while reading": .closed
        default: .failed(.library(text.isEmpty ? "error \(code)" : text))
        }
    }
}
