internal import COpenSSL

/// What OpenSSL tells of one session in its callbacks, and nowhere else. Belongs to the session, on its thread.
final class TLSNotes {
    /// The peer asked for a renegotiation, and was told no.
    fileprivate(set) var isRenegotiationAsked = false
    /// What is wrong with the peer's certificate.
    fileprivate(set) var trouble: CertificateTrouble?
    private let serverName: String
    private let roots: String

    /// - Parameters:
    ///   - serverName: The name that the certificate must be for.
    ///   - roots: Which roots are trusted, in words.
    init(serverName: String, roots: String) {
        self.serverName = serverName
        self.roots = roots
    }

    /// Makes callbacks find it. The caller holds it for longer than the `SSL`.
    func attach(to ssl: OpaquePointer) throws(TLSError) {
        guard SSL_set_ex_data(ssl, Self.place, Unmanaged.passUnretained(self).toOpaque()) == 1 else {
            throw .library(drainTLSErrors())
        }
    }

    /// Called by OpenSSL for each certificate of a chain; refuses what OpenSSL refuses.
    static func verify(_ isGood: Int32, _ store: OpaquePointer?) -> Int32 {
        guard isGood == 0, let store, let ssl = X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()),
            let notes = notes(of: OpaquePointer(ssl)), notes.trouble == nil
        else { return isGood }
        let certificate = X509_STORE_CTX_get_current_cert(store)
        notes.trouble = CertificateTrouble(
            code: X509_STORE_CTX_get_error(store),
            certificate: certificate.map(CertificateFacts.init),
            serverName: notes.serverName,
            roots: notes.roots
        )
        return 0
    }

    /// Called by OpenSSL for alerts and the handshake's steps. With SSL_OP_NO_RENEGOTIATION the answer to the question is an
    /// alert of ours, and OpenSSL would go on as if nothing had been asked.
    static func tell(_ ssl: OpaquePointer?, _ what: Int32, _ value: Int32) {
        guard what & SSL_CB_WRITE != 0, what & SSL_CB_ALERT != 0, value & 0xFF == SSL_AD_NO_RENEGOTIATION else {
            return
        }
        notes(of: ssl)?.isRenegotiationAsked = true
    }

    private static let place: Int32 = CRYPTO_get_ex_new_index(CRYPTO_EX_INDEX_SSL, 0, nil, nil, nil, nil)

    private static func notes(of ssl: OpaquePointer?) -> TLSNotes? {
        guard let ssl, let data = SSL_get_ex_data(ssl, place) else { return nil }
        return Unmanaged<TLSNotes>.fromOpaque(data).takeUnretainedValue()
    }
}
