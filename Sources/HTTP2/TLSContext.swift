internal import COpenSSL
internal import Glibc

/// One `SSL_CTX`: what all connections of one kind share. TLS 1.2 or newer.
///
/// `SSL_CTX` counts its references and may be used by many threads once it is set up, and it is not changed after `init`.
package final class TLSContext: @unchecked Sendable {
    /// The owner of the pointer; sessions count their own reference.
    private let handle: OpaquePointer
    /// The server's protocols in order of preference, in wire form; the ALPN callback reads it for as long as we live.
    private let offered: UnsafeMutableBufferPointer<UInt8>
    /// Which roots a client trusts, in words.
    private let roots: String

    /// For connections that we open: chain and host name are verified, ALPN offers `h2` and nothing else.
    ///
    /// - Parameter caFile: A PEM file of trusted roots in place of the system's.
    /// - Returns: A context for any number of connections.
    /// - Throws: ``TLSError/unusableFile(path:reason:)`` for a CA file without a certificate.
    package static func client(caFile: String? = nil) throws(TLSError) -> TLSContext {
        let roots = caFile.map { "the roots in \($0)" } ?? "the system's roots (ca-certificates)"
        let context = try TLSContext(method: TLS_client_method(), protocols: ["h2"], roots: roots)
        SSL_CTX_set_verify(context.handle, SSL_VERIFY_PEER) { TLSNotes.verify($0, $1) }
        if let caFile {
            guard SSL_CTX_load_verify_file(context.handle, caFile) == 1 else {
                throw .unusableFile(path: caFile, reason: "no readable PEM certificate (\(drainTLSErrors()))")
            }
        } else if SSL_CTX_set_default_verify_paths(context.handle) != 1 {
            throw .library(drainTLSErrors())
        }
        // Returns 0 on success, unlike its neighbours.
        guard SSL_CTX_set_alpn_protos(context.handle, context.offered.baseAddress, UInt32(context.offered.count)) == 0
        else { throw .library(drainTLSErrors()) }
        return context
    }

    /// For connections that we accept.
    ///
    /// - Parameters:
    ///   - certificateFile: PEM, the server's own certificate first, then its chain.
    ///   - keyFile: PEM, without a passphrase.
    ///   - alpn: Protocols in order of preference. A client that offers ALPN and shares none of them is refused.
    /// - Returns: A context for any number of connections.
    /// - Throws: ``TLSError/unusableFile(path:reason:)``, also when the key is not the certificate's.
    package static func server(
        certificateFile: String,
        keyFile: String,
        alpn: [String]
    ) throws(TLSError) -> TLSContext {
        let context = try TLSContext(method: TLS_server_method(), protocols: alpn)
        guard SSL_CTX_use_certificate_chain_file(context.handle, certificateFile) == 1 else {
            throw .unusableFile(path: certificateFile, reason: "no readable PEM certificate (\(drainTLSErrors()))")
        }
        guard SSL_CTX_use_PrivateKey_file(context.handle, keyFile, SSL_FILETYPE_PEM) == 1 else {
            throw .unusableFile(path: keyFile, reason: "no readable PEM key (\(drainTLSErrors()))")
        }
        guard SSL_CTX_check_private_key(context.handle) == 1 else {
            throw .unusableFile(path: keyFile, reason: "the key does not belong to \(certificateFile)")
        }
        let choose: SSL_CTX_alpn_select_cb_func = { _, chosen, chosenCount, theirs, theirCount, context in
            guard let context else { return SSL_TLSEXT_ERR_ALERT_FATAL }
            let own = Unmanaged<TLSContext>.fromOpaque(context).takeUnretainedValue().offered
            // Points `chosen` into one of the two lists, both of which outlive the call.
            let found = chosen?.withMemoryRebound(to: UnsafeMutablePointer<UInt8>?.self, capacity: 1) {
                SSL_select_next_proto($0, chosenCount, own.baseAddress, UInt32(own.count), theirs, theirCount)
            }
            return found == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL
        }
        // Unretained: every session holds the context, so it is alive whenever OpenSSL calls back.
        SSL_CTX_set_alpn_select_cb(context.handle, choose, Unmanaged.passUnretained(context).toOpaque())
        return context
    }

    private init(method: OpaquePointer?, protocols: [String], roots: String = "") throws(TLSError) {
        // A peer that closes while we write must be an error, not the end of the process: OpenSSL writes by write(2).
        _ = Self.ignoresBrokenPipes
        ERR_clear_error()
        guard let handle = SSL_CTX_new(method) else { throw .library(drainTLSErrors()) }
        self.handle = handle
        self.roots = roots
        let wire = protocols.flatMap { [UInt8(clamping: $0.utf8.count)] + Array($0.utf8) }
        offered = .allocate(capacity: wire.count)
        _ = offered.initialize(from: wire)
        _ = c_ssl_ctx_set_min_proto_version(handle, TLS1_2_VERSION)
        // A peer that could ask for a second handshake could also leave it unfinished, and every request waiting.
        c_ssl_ctx_refuse_renegotiation(handle)
        SSL_CTX_set_info_callback(handle) { TLSNotes.tell($0, $1, $2) }
        _ = c_ssl_ctx_set_mode(
            handle,
            Int(SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER)
        )
        _ = c_ssl_ctx_set_read_ahead(handle, 1)
        // Several records a system call; the default of 16 KB holds barely one.
        SSL_CTX_set_default_read_buffer_len(handle, 64 * 1024)
    }

    deinit {
        SSL_CTX_free(handle)
        offered.deallocate()
    }

    /// A session over a connected, non-blocking descriptor, which stays the caller's to close.
    func makeSession(descriptor: Int32, role: TransportRole) throws(TLSError) -> TLSSession {
        ERR_clear_error()
        guard let ssl = SSL_new(handle) else { throw .library(drainTLSErrors()) }
        let serverName = if case .client(let name) = role { name } else { "" }
        let notes = TLSNotes(serverName: serverName, roots: roots)
        let session = try TLSSession(adopting: ssl, descriptor: descriptor, context: self, notes: notes)
        switch role {
        case .server: SSL_set_accept_state(ssl)
        case .client(let serverName):
            SSL_set_connect_state(ssl)
            // A literal address is checked against the certificate's addresses, and has no place in SNI (RFC 6066, 3).
            if X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), serverName) != 1 {
                ERR_clear_error()
                guard SSL_set1_host(ssl, serverName) == 1, c_ssl_set_server_name(ssl, serverName) == 1 else {
                    throw .library(drainTLSErrors())
                }
            }
        }
        return session
    }

    private static let ignoresBrokenPipes: Bool = {
        _ = signal(SIGPIPE, SIG_IGN)
        return true
    }()
}
