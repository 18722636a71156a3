internal import COpenSSL
internal import Glibc

/// Why a peer's certificate was refused, with what to look at: the clock, a proxy on the way, the roots, or the name.
struct CertificateTrouble: Equatable, Sendable {
    /// OpenSSL's `X509_V_ERR_…`.
    let code: Int32
    /// Of the certificate that was refused, which need not be the peer's own.
    let certificate: CertificateFacts?
    let serverName: String
    /// "the system's roots", or a file.
    let roots: String

    /// What to tell people, at this UNIX time.
    func sentence(now: Int64) -> String {
        let words = String(cString: X509_verify_cert_error_string(Int(code)))
        guard let certificate else { return words }
        let name = certificate.subject
        switch code {
        case X509_V_ERR_CERT_NOT_YET_VALID:
            return "\(words): that of \(name) begins on \(Self.date(certificate.notBefore)), and it is "
                + "\(Self.date(now)) here: check this machine's clock"
        case X509_V_ERR_CERT_HAS_EXPIRED:
            return "\(words): that of \(name) ended on \(Self.date(certificate.notAfter)), and it is "
                + "\(Self.date(now)) here: check this machine's clock; if it is right, the peer's certificate is too old"
        case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT, X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
            return
                "\(words): \(name) vouches for itself, and is not among \(roots): a proxy that opens TLS on the way, or "
                + "a CA that has to be trusted here"
        case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY,
            X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
            return
                "\(words): that of \(name) was issued by \(certificate.issuer), who is not among \(roots): the CA is "
                + "missing there, or a proxy on the way opens TLS"
        case X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH:
            let names = certificate.names.isEmpty ? [name] : certificate.names
            return "\(words): it is for \(names.joined(separator: ", ")), and not for \(serverName): another service "
                + "answers there, or a proxy on the way"
        default: return "\(words) (\(name), issued by \(certificate.issuer))"
        }
    }

    /// `2026-07-19 20:46 UTC`.
    private static func date(_ seconds: Int64) -> String {
        var time = time_t(seconds)
        var parts = tm()
        guard gmtime_r(&time, &parts) != nil else { return "\(seconds)" }
        func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return "\(parts.tm_year + 1900)-\(two(parts.tm_mon + 1))-\(two(parts.tm_mday)) "
            + "\(two(parts.tm_hour)):\(two(parts.tm_min)) UTC"
    }
}

/// What a certificate says of itself.
struct CertificateFacts: Equatable, Sendable {
    /// The common name, else the whole name.
    var subject: String
    var issuer: String
    /// UNIX seconds.
    var notBefore: Int64
    var notAfter: Int64
    /// The first few of the names that it is for.
    var names: [String]
}

extension CertificateFacts {
    /// Copies what is of use from an `X509`.
    init(_ certificate: OpaquePointer) {
        subject = Self.text(X509_get_subject_name(certificate))
        issuer = Self.text(X509_get_issuer_name(certificate))
        notBefore = Self.seconds(X509_get0_notBefore(certificate))
        notAfter = Self.seconds(X509_get0_notAfter(certificate))
        names = withUnsafeTemporaryAllocation(of: CChar.self, capacity: 1024) { buffer in
            guard let base = buffer.baseAddress, c_x509_names(certificate, base, buffer.count) > 0 else { return [] }
            return String(cString: base).split(separator: "\n").map { Self.printable(String($0)) }
        }
    }

    private static func text(_ name: OpaquePointer?) -> String {
        guard let name else { return "nobody" }
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
            guard let base = buffer.baseAddress else { return "nobody" }
            if X509_NAME_get_text_by_NID(name, NID_commonName, base, Int32(buffer.count)) > 0 {
                return "“\(printable(String(cString: base)))”"
            }
            guard X509_NAME_oneline(name, base, Int32(buffer.count)) != nil else { return "nobody" }
            let whole = printable(String(cString: base))
            return whole.isEmpty ? "a nameless one" : "“\(whole)”"
        }
    }

    /// It comes from outside, and goes into somebody's log.
    private static func printable(_ text: String) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.filter { $0.value >= 0x20 && $0.value != 0x7F }))
    }

    private static func seconds(_ time: UnsafePointer<ASN1_TIME>?) -> Int64 {
        var parts = tm()
        guard let time, ASN1_TIME_to_tm(time, &parts) == 1 else { return 0 }
        return Int64(timegm(&parts))
    }
}
