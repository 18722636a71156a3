import CNghttp2

/// nghttp2's HPACK decoder: somebody else's reading of what our encoder writes.
final class HeaderDecoder {
    struct Field: Equatable {
        let name: String
        let value: String
        /// Marked as never to be indexed.
        var isNeverIndexed = false
    }

    private let handle: OpaquePointer

    init() {
        var inflater: OpaquePointer?
        guard nghttp2_hd_inflate_new(&inflater) == 0, let inflater else { preconditionFailure("out of memory") }
        handle = inflater
    }

    deinit { nghttp2_hd_inflate_del(handle) }

    /// As a peer does whose SETTINGS have been acknowledged.
    func changeTable(bytes: Int) { _ = nghttp2_hd_inflate_change_table_size(handle, bytes) }

    var tableBytes: Int { nghttp2_hd_inflate_get_dynamic_table_size(handle) }

    /// The fields of a whole block; `nil` if it is not well-formed.
    func decode(_ block: [UInt8]) -> [Field]? {
        var fields: [Field] = []
        var rest = block[...]
        while true {
            var field = nghttp2_nv()
            var flags: Int32 = 0
            let count = rest.withUnsafeBufferPointer {
                nghttp2_hd_inflate_hd2(handle, &field, &flags, $0.baseAddress, $0.count, 1)
            }
            guard count >= 0 else { return nil }
            rest = rest.dropFirst(count)
            if flags & Int32(NGHTTP2_HD_INFLATE_EMIT.rawValue) != 0 {
                fields.append(
                    Field(
                        name: Self.text(field.name, field.namelen),
                        value: Self.text(field.value, field.valuelen),
                        isNeverIndexed: field.flags & UInt8(NGHTTP2_NV_FLAG_NO_INDEX.rawValue) != 0
                    )
                )
            }
            if flags & Int32(NGHTTP2_HD_INFLATE_FINAL.rawValue) != 0 {
                nghttp2_hd_inflate_end_headers(handle)
                return rest.isEmpty ? fields : nil
            }
            if count == 0 { return nil }
        }
    }

    private static func text(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> String {
        String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self)
    }
}

/// A seeded generator (xorshift), so that a failure can be repeated.
struct SeededRandom: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 | 1 }

    mutating func next() -> UInt64 {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return state
    }
}
