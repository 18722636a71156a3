import COpenSSL

/// An ES256 signing key: elliptic curve P-256, as in Apple's `.p8` files. Its description never shows the key.
package struct P256PrivateKey: Sendable {
    let handle: PrivateKeyHandle

    /// Reads the text of a `.p8` file (PKCS#8 PEM).
    ///
    /// CRLF, a missing last newline and newlines written as a literal `\n` are taken.
    /// - Throws: ``CryptoError/key(_:)`` with what is wrong, never with the key.
    package init(pem: String) throws(CryptoError) {
        do {
            handle = try Self.read(pem)
        } catch {
            throw .key(error)
        }
    }

    private init(handle: PrivateKeyHandle) { self.handle = handle }

    /// Makes a new key.
    package static func generate() throws(CryptoError) -> P256PrivateKey {
        try openSSL { () throws(CryptoError) in
            let context = try require(EVP_PKEY_CTX_new_from_name(nil, "EC", nil), "EVP_PKEY_CTX_new_from_name")
            defer { EVP_PKEY_CTX_free(context) }
            try check(EVP_PKEY_keygen_init(context), "EVP_PKEY_keygen_init")
            try check(EVP_PKEY_CTX_set_group_name(context, "P-256"), "EVP_PKEY_CTX_set_group_name")
            var key: OpaquePointer?
            try check(EVP_PKEY_generate(context, &key), "EVP_PKEY_generate")
            return P256PrivateKey(handle: PrivateKeyHandle(adopting: try require(key, "EVP_PKEY_generate")))
        }
    }

    package var publicKey: P256PublicKey { P256PublicKey(handle: handle) }

    /// The key as PKCS#8 PEM, 64 characters a line: what Apple's `.p8` files hold.
    package var pem: String {
        get throws(CryptoError) {
            try openSSL { () throws(CryptoError) in
                let output = try MemoryBIO()
                try check(
                    PEM_write_bio_PKCS8PrivateKey(output.pointer, handle.pointer, nil, nil, 0, nil, nil),
                    "PEM_write_bio_PKCS8PrivateKey"
                )
                return String(decoding: output.bytes, as: UTF8.self)
            }
        }
    }

    /// Signs `message` with ECDSA over SHA-256.
    /// - Returns: R and S, 32 bytes each: the form of JSON Web Signatures (RFC 7518, 3.4), not DER.
    package func sign(_ message: [UInt8]) throws(CryptoError) -> [UInt8] {
        try openSSL { () throws(CryptoError) in
            let context = try require(EVP_MD_CTX_new(), "EVP_MD_CTX_new")
            defer { EVP_MD_CTX_free(context) }
            try check(EVP_DigestSignInit(context, nil, EVP_sha256(), nil, handle.pointer), "EVP_DigestSignInit")
            var der = [UInt8](repeating: 0, count: 80)  // a P-256 signature has at most 72 bytes
            var length = der.count
            try check(EVP_DigestSign(context, &der, &length, message, message.count), "EVP_DigestSign")
            return try ECDSASignature.raw(der: Array(der[..<length]))
        }
    }

    private static func read(_ pem: String) throws(KeyFault) -> PrivateKeyHandle {
        let block = try PEMBlock(pem)
        switch block.label {
        case "PRIVATE KEY", "EC PRIVATE KEY", "RSA PRIVATE KEY", "DSA PRIVATE KEY": break
        case "ENCRYPTED PRIVATE KEY": throw .encrypted
        case "PUBLIC KEY", "RSA PUBLIC KEY": throw .publicKey
        case "CERTIFICATE": throw .certificate
        default: throw .otherLabel(block.label)
        }
        let handle = try PrivateKeyHandle(der: block.bytes)
        try handle.checkP256()
        return handle
    }
}

extension P256PrivateKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "P256PrivateKey(…)" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
