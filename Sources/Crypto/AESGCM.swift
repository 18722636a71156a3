import COpenSSL

/// AES-256-GCM (NIST SP 800-38D), with a random 12-byte nonce in front of the ciphertext.
package enum AESGCM {
    package static let keyBytes = 32
    private static let nonceBytes = 12
    private static let tagBytes = 16

    /// Encrypts `plaintext` with a `key` of 32 bytes into nonce (12 bytes), ciphertext and tag (16 bytes).
    ///
    /// `additionalData` is authenticated, not stored: the same bytes must be given to ``open(_:key:additionalData:)``.
    package static func seal(
        _ plaintext: [UInt8],
        key: [UInt8],
        additionalData: [UInt8] = []
    ) throws(CryptoError) -> [UInt8] {
        try checkKey(key)
        let nonce = SecureRandom.bytes(nonceBytes)
        return try openSSL { () throws(CryptoError) in
            let context = try CipherContext()
            try context.begin(encrypting: true, key: key, nonce: nonce)
            try context.authenticate(additionalData)
            var sealed = nonce
            sealed += try context.update(plaintext)
            try context.finish(failure: .library(step: "EVP_CipherFinal_ex"))
            sealed += try context.tag(bytes: tagBytes)
            return sealed
        }
    }

    /// Decrypts what ``seal(_:key:additionalData:)`` returned.
    ///
    /// Anything else, too short input included, is ``CryptoError/notAuthentic``.
    package static func open(
        _ sealed: [UInt8],
        key: [UInt8],
        additionalData: [UInt8] = []
    ) throws(CryptoError) -> [UInt8] {
        try checkKey(key)
        guard sealed.count >= nonceBytes + tagBytes else { throw .notAuthentic }
        let nonce = Array(sealed[..<nonceBytes])
        let ciphertext = Array(sealed[nonceBytes..<(sealed.count - tagBytes)])
        var tag = Array(sealed[(sealed.count - tagBytes)...])
        return try openSSL { () throws(CryptoError) in
            let context = try CipherContext()
            try context.begin(encrypting: false, key: key, nonce: nonce)
            try context.authenticate(additionalData)
            let plaintext = try context.update(ciphertext)
            try context.expect(&tag)
            try context.finish(failure: .notAuthentic)
            return plaintext
        }
    }

    private static func checkKey(_ key: [UInt8]) throws(CryptoError) {
        guard key.count == keyBytes else {
            throw .wrongSize(what: "the key", bytes: key.count, expected: keyBytes)
        }
    }
}

/// Owns one `EVP_CIPHER_CTX`.
private struct CipherContext: ~Copyable {
    private let handle: OpaquePointer

    init() throws(CryptoError) { handle = try require(EVP_CIPHER_CTX_new(), "EVP_CIPHER_CTX_new") }

    deinit { EVP_CIPHER_CTX_free(handle) }

    func begin(encrypting: Bool, key: [UInt8], nonce: [UInt8]) throws(CryptoError) {
        // 12 bytes are the default nonce size of GCM, so it needs no setting.
        try check(
            EVP_CipherInit_ex(handle, EVP_aes_256_gcm(), nil, key, nonce, encrypting ? 1 : 0),
            "EVP_CipherInit_ex"
        )
    }

    func authenticate(_ data: [UInt8]) throws(CryptoError) {
        guard !data.isEmpty else { return }
        var written: Int32 = 0
        try check(EVP_CipherUpdate(handle, nil, &written, data, Int32(data.count)), "EVP_CipherUpdate")
    }

    func update(_ input: [UInt8]) throws(CryptoError) -> [UInt8] {
        guard !input.isEmpty else { return [] }
        var output = [UInt8](repeating: 0, count: input.count)
        var written: Int32 = 0
        try check(EVP_CipherUpdate(handle, &output, &written, input, Int32(input.count)), "EVP_CipherUpdate")
        precondition(Int(written) == input.count, "GCM is a stream mode: \(written) of \(input.count) bytes")
        return output
    }

    func finish(failure: CryptoError) throws(CryptoError) {
        var none = [UInt8](repeating: 0, count: 16)
        var written: Int32 = 0
        guard EVP_CipherFinal_ex(handle, &none, &written) == 1 else { throw failure }
    }

    func tag(bytes: Int) throws(CryptoError) -> [UInt8] {
        var tag = [UInt8](repeating: 0, count: bytes)
        try check(EVP_CIPHER_CTX_ctrl(handle, EVP_CTRL_AEAD_GET_TAG, Int32(bytes), &tag), "EVP_CTRL_AEAD_GET_TAG")
        return tag
    }

    func expect(_ tag: inout [UInt8]) throws(CryptoError) {
        try check(
            EVP_CIPHER_CTX_ctrl(handle, EVP_CTRL_AEAD_SET_TAG, Int32(tag.count), &tag),
            "EVP_CTRL_AEAD_SET_TAG"
        )
    }
}
