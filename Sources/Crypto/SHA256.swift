import COpenSSL

/// SHA-256 (FIPS 180-4).
package enum SHA256 {
    package static let byteCount = 32

    /// The 32-byte digest of `bytes`.
    package static func hash(_ bytes: some Collection<UInt8>) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: byteCount)
        func digestAll(_ buffer: UnsafeBufferPointer<UInt8>) {
            // The one-shot function of libcrypto fails for nothing but a null output.
            _ = COpenSSL.SHA256(buffer.baseAddress, buffer.count, &digest)
        }
        if bytes.withContiguousStorageIfAvailable(digestAll) == nil {
            Array(bytes).withUnsafeBufferPointer(digestAll)
        }
        return digest
    }

    /// The digest of a text's UTF-8.
    package static func hash(_ text: String) -> [UInt8] { hash(Array(text.utf8)) }
}
