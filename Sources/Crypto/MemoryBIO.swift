import COpenSSL

/// Owns one in-memory `BIO` that OpenSSL writes PEM text into.
struct MemoryBIO: ~Copyable {
    let pointer: OpaquePointer

    init() throws(CryptoError) { pointer = try require(BIO_new(BIO_s_mem()), "BIO_new") }

    deinit { BIO_free(pointer) }

    /// A copy of what was written so far.
    var bytes: [UInt8] {
        var data: UnsafeMutablePointer<CChar>?
        let count = c_bio_get_mem_data(pointer, &data)
        guard let data, count > 0 else { return [] }
        return data.withMemoryRebound(to: UInt8.self, capacity: count) {
            Array(UnsafeBufferPointer(start: $0, count: count))
        }
    }
}
