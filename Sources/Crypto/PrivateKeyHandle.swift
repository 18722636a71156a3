import COpenSSL

/// Owns one reference to an `EVP_PKEY`.
///
/// `@unchecked` because the pointer is never replaced and OpenSSL's keys may be used by several threads at once as long
/// as nobody changes them (`man 7 openssl-threads`); every operation makes a context of its own.
final class PrivateKeyHandle: @unchecked Sendable {
    let pointer: OpaquePointer

    init(adopting pointer: OpaquePointer) { self.pointer = pointer }

    deinit { EVP_PKEY_free(pointer) }

    /// Reads PKCS#8 or SEC 1 DER. Never asks for a passphrase.
    convenience init(der: [UInt8]) throws(KeyFault) {
        ERR_clear_error()
        defer { ERR_clear_error() }
        let (pointer, consumed) = der.withUnsafeBufferPointer { buffer -> (OpaquePointer?, Int) in
            guard var cursor = buffer.baseAddress else { return (nil, 0) }
            let pointer = withUnsafeMutablePointer(to: &cursor) { cursor in
                cursor.withMemoryRebound(to: Optional<UnsafePointer<UInt8>>.self, capacity: 1) {
                    d2i_AutoPrivateKey(nil, $0, buffer.count)
                }
            }
            return (pointer, buffer.baseAddress.map { cursor - $0 } ?? 0)
        }
        guard let pointer else { throw .unreadable }
        self.init(adopting: pointer)
        guard consumed == der.count else { throw .unreadable }
    }

    /// Whether this is a consistent key on P-256.
    func checkP256() throws(KeyFault) {
        let kind = EVP_PKEY_get0_type_name(pointer).map { String(cString: $0) } ?? "unknown"
        guard kind == "EC" else { throw .otherAlgorithm(kind) }
        var name = [CChar](repeating: 0, count: 64)
        var length = 0
        guard EVP_PKEY_get_group_name(pointer, &name, name.count, &length) == 1 else { throw .unreadable }
        let curve = String(decoding: name.prefix(length).map(UInt8.init(bitPattern:)), as: UTF8.self)
        guard curve == "prime256v1" else { throw .otherCurve(curve) }
        guard let context = EVP_PKEY_CTX_new(pointer, nil) else { throw .unreadable }
        defer { EVP_PKEY_CTX_free(context) }
        guard EVP_PKEY_check(context) == 1 else { throw .unreadable }
    }
}
