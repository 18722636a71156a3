import COpenSSL

/// Between the DER form of a P-256 signature and the 64 bytes of JSON Web Signatures (RFC 7518, 3.4).
enum ECDSASignature {
    static let byteCount = 64

    static func raw(der: [UInt8]) throws(CryptoError) -> [UInt8] {
        let signature = der.withUnsafeBufferPointer { buffer -> OpaquePointer? in
            var cursor = buffer.baseAddress
            return d2i_ECDSA_SIG(nil, &cursor, buffer.count)
        }
        let handle = try require(signature, "d2i_ECDSA_SIG")
        defer { ECDSA_SIG_free(handle) }
        var raw = [UInt8](repeating: 0, count: byteCount)
        let isComplete = raw.withUnsafeMutableBufferPointer { buffer in
            BN_bn2binpad(ECDSA_SIG_get0_r(handle), buffer.baseAddress, 32) == 32
                && BN_bn2binpad(ECDSA_SIG_get0_s(handle), buffer.baseAddress.map { $0 + 32 }, 32) == 32
        }
        guard isComplete else { throw .library(step: "BN_bn2binpad") }
        return raw
    }

    static func der(raw: [UInt8]) throws(CryptoError) -> [UInt8] {
        let handle = try require(ECDSA_SIG_new(), "ECDSA_SIG_new")
        defer { ECDSA_SIG_free(handle) }
        let r = try require(BN_bin2bn(Array(raw[..<32]), 32, nil), "BN_bin2bn")
        guard let s = BN_bin2bn(Array(raw[32...]), 32, nil) else {
            BN_free(r)
            throw .library(step: "BN_bin2bn")
        }
        // From here on the signature owns both numbers.
        try check(ECDSA_SIG_set0(handle, r, s), "ECDSA_SIG_set0")
        var output: UnsafeMutablePointer<UInt8>?
        let length = i2d_ECDSA_SIG(handle, &output)
        guard length > 0, let output else { throw .library(step: "i2d_ECDSA_SIG") }
        defer { CRYPTO_free(output, #file, #line) }
        return Array(UnsafeBufferPointer(start: output, count: Int(length)))
    }
}
