internal import COpenSSL

/// The records that OpenSSL has made and the kernel has not taken yet.
///
/// OpenSSL alone would make one system call a record. Here a turn's records lie together and leave by one.
final class TLSOutput {
    var bytes = WriteBuffer(capacity: 0)

    /// Where OpenSSL writes to: takes everything. The caller's `SSL` owns it, and must go before this object.
    func makeBIO() -> OpaquePointer? {
        guard let method = Self.method, let bio = BIO_new(method) else { return nil }
        BIO_set_data(bio, Unmanaged.passUnretained(self).toOpaque())
        BIO_set_init(bio, 1)
        return bio
    }

    /// Made once for the process. Unsafe only in that it is a C pointer: nobody writes to it afterwards.
    private nonisolated(unsafe) static let method: OpaquePointer? = {
        let type = BIO_get_new_index() | BIO_TYPE_SOURCE_SINK
        guard let method = BIO_meth_new(type, "records") else { return nil }
        BIO_meth_set_write(method) { bio, source, count in
            guard let data = BIO_get_data(bio), let source, count > 0 else { return 0 }
            let output = Unmanaged<TLSOutput>.fromOpaque(data).takeUnretainedValue()
            output.bytes.append(UnsafeRawBufferPointer(start: source, count: Int(count)))
            return count
        }
        // The one question of importance is whether what was written may be counted as gone.
        BIO_meth_set_ctrl(method) { _, command, _, _ in command == BIO_CTRL_FLUSH ? 1 : 0 }
        return method
    }()
}
