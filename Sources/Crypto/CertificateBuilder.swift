import COpenSSL

/// Owns one `X509` while it is filled in and signed.
struct CertificateBuilder: ~Copyable {
    private let handle: OpaquePointer

    init() throws(CryptoError) { handle = try require(X509_new(), "X509_new") }

    deinit { X509_free(handle) }

    /// Version 3, a random serial number, valid from when until when: in seconds from now.
    func fill(subject: String, key: P256PrivateKey, validity: Range<Int>) throws(CryptoError) {
        try check(X509_set_version(handle, 2), "X509_set_version")  // 2 means version 3
        let serial = SecureRandom.bytes(7).reduce(Int(1)) { $0 << 8 | Int($1) }
        try check(ASN1_INTEGER_set_int64(X509_get_serialNumber(handle), Int64(serial)), "ASN1_INTEGER_set_int64")
        X509_gmtime_adj(X509_getm_notBefore(handle), validity.lowerBound)
        X509_gmtime_adj(X509_getm_notAfter(handle), validity.upperBound)
        try check(X509_set_pubkey(handle, key.handle.pointer), "X509_set_pubkey")
        try check(
            X509_NAME_add_entry_by_txt(X509_get_subject_name(handle), "CN", MBSTRING_UTF8, subject, -1, -1, 0),
            "X509_NAME_add_entry_by_txt"
        )
    }

    func setIssuer(of issuer: borrowing CertificateBuilder) throws(CryptoError) {
        try check(X509_set_issuer_name(handle, X509_get_subject_name(issuer.handle)), "X509_set_issuer_name")
    }

    /// Adds an extension in the notation of `x509v3_config(5)`.
    func extend(_ kind: Int32, _ value: String, issuer: borrowing CertificateBuilder) throws(CryptoError) {
        var context = X509V3_CTX()
        X509V3_set_ctx(&context, issuer.handle, handle, nil, nil, 0)
        let made = try require(X509V3_EXT_nconf_nid(nil, &context, kind, value), "X509V3_EXT_nconf_nid")
        defer { X509_EXTENSION_free(made) }
        try check(X509_add_ext(handle, made, -1), "X509_add_ext")
    }

    func sign(with key: P256PrivateKey) throws(CryptoError) {
        guard X509_sign(handle, key.handle.pointer, EVP_sha256()) > 0 else { throw .library(step: "X509_sign") }
    }

    var pem: [UInt8] {
        get throws(CryptoError) {
            let output = try MemoryBIO()
            try check(PEM_write_bio_X509(output.pointer, handle), "PEM_write_bio_X509")
            return output.bytes
        }
    }
}
