import COpenSSL

/// The public half of an ES256 key.
package struct P256PublicKey: Sendable {
    let handle: PrivateKeyHandle  // its private half, if it has one, is never used through this type

    /// The SubjectPublicKeyInfo in DER (RFC 5480), 91 bytes.
    package var der: [UInt8] {
        get throws(CryptoError) {
            try openSSL { () throws(CryptoError) in
                var output: UnsafeMutablePointer<UInt8>?
                let length = i2d_PUBKEY(handle.pointer, &output)
                guard length > 0, let output else { throw .library(step: "i2d_PUBKEY") }
                defer { CRYPTO_free(output, #file, #line) }
                return Array(UnsafeBufferPointer(start: output, count: Int(length)))
            }
        }
    }

    /// Hexadecimal SHA-256 of ``der``: names a key without telling anything about its private half.
    package var fingerprint: String {
        get throws(CryptoError) { Hex.encode(SHA256.hash(try der)) }
    }

    /// Whether `signature` (64 bytes, R and S) was made over `message` by the private key. Any other size: false.
    package func verify(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        guard signature.count == ECDSASignature.byteCount else { return false }
        guard let der = try? openSSL({ () throws(CryptoError) in try ECDSASignature.der(raw: signature) }) else {
            return false
        }
        return verify(der: der, of: message)
    }

    /// The same with the signature in DER, of 8 to 72 bytes. What is not DER through and through: false.
    package func verify(der: [UInt8], of message: [UInt8]) -> Bool {
        let result = try? openSSL { () throws(CryptoError) in
            let context = try require(EVP_MD_CTX_new(), "EVP_MD_CTX_new")
            defer { EVP_MD_CTX_free(context) }
            try check(EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, handle.pointer), "EVP_DigestVerifyInit")
            return EVP_DigestVerify(context, der, der.count, message, message.count) == 1
        }
        return result ?? false
    }
}
