import COpenSSL
import Glibc

/// A certification authority and a server certificate for loopback, as PEM files: for the simulator and the tests.
package struct TestCertificate: Sendable {
    package let caFile: String
    package let certificateFile: String
    package let keyFile: String

    /// From an hour ago.
    package static let thirtyDays = -3_600..<30 * 86_400

    /// Makes both and writes `ca.pem`, `server.pem` and `server.key` (mode 0600) into `directory`, which must exist.
    ///
    /// The authority is valid from an hour ago for 30 days, the server by `validity`, in seconds from now; `dnsNames` and `addresses` are the server's alternative names. The
    /// authority's key is not kept.
    package static func make(
        commonName: String = "localhost",
        dnsNames: [String] = ["localhost"],
        addresses: [String] = ["127.0.0.1"],
        validity: Range<Int> = thirtyDays,
        directory: String
    ) throws(CryptoError) -> TestCertificate {
        let authorityKey = try P256PrivateKey.generate()
        let serverKey = try P256PrivateKey.generate()
        let (authority, server) = try openSSL { () throws(CryptoError) in
            let authority = try CertificateBuilder()
            try authority.fill(subject: "Touchline test authority", key: authorityKey, validity: Self.thirtyDays)
            try authority.setIssuer(of: authority)
            try authority.extend(NID_basic_constraints, "critical,CA:TRUE", issuer: authority)
            try authority.extend(NID_key_usage, "critical,keyCertSign,cRLSign", issuer: authority)
            try authority.extend(NID_subject_key_identifier, "hash", issuer: authority)
            try authority.extend(NID_authority_key_identifier, "keyid:always", issuer: authority)
            try authority.sign(with: authorityKey)

            let names = dnsNames.map { "DNS:\($0)" } + addresses.map { "IP:\($0)" }
            let server = try CertificateBuilder()
            try server.fill(subject: commonName, key: serverKey, validity: validity)
            try server.setIssuer(of: authority)
            try server.extend(NID_basic_constraints, "critical,CA:FALSE", issuer: authority)
            try server.extend(NID_key_usage, "critical,digitalSignature", issuer: authority)
            try server.extend(NID_subject_key_identifier, "hash", issuer: authority)
            try server.extend(NID_authority_key_identifier, "keyid:always", issuer: authority)
            try server.extend(NID_ext_key_usage, "serverAuth", issuer: authority)
            try server.extend(NID_subject_alt_name, names.joined(separator: ","), issuer: authority)
            try server.sign(with: authorityKey)
            return (try authority.pem, try server.pem)
        }
        let files = TestCertificate(
            caFile: "\(directory)/ca.pem",
            certificateFile: "\(directory)/server.pem",
            keyFile: "\(directory)/server.key"
        )
        try write(authority, to: files.caFile, mode: 0o644)
        try write(server, to: files.certificateFile, mode: 0o644)
        try write(Array(try serverKey.pem.utf8), to: files.keyFile, mode: 0o600)
        return files
    }

    private static func write(_ bytes: [UInt8], to path: String, mode: mode_t) throws(CryptoError) {
        unlink(path)  // an older file may have another mode
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
        guard descriptor >= 0 else { throw .file(path: path, code: errno) }
        defer { close(descriptor) }
        guard Glibc.write(descriptor, bytes, bytes.count) == bytes.count else {
            throw .file(path: path, code: errno)
        }
    }
}
