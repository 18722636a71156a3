internal import CNghttp2

/// Owns nghttp2's HPACK decoder for the header blocks of one connection's peer.
struct ResponseInflater: ~Copyable {
    enum Step {
        /// Valid until the next call.
        case field(name: UnsafeBufferPointer<UInt8>, value: UnsafeBufferPointer<UInt8>)
        case end
        /// The connection is lost with it: its table is no longer the peer's.
        case failed
    }

    private let handle: OpaquePointer  // nghttp2_hd_inflater *

    /// - Throws: ``HTTP2Error/library(code:)`` when nghttp2 is out of memory.
    init() throws(HTTP2Error) {
        var inflater: OpaquePointer?
        let result = nghttp2_hd_inflate_new(&inflater)
        guard result == 0, let inflater else { throw .library(code: result) }
        handle = inflater
    }

    deinit { nghttp2_hd_inflate_del(handle) }

    /// Decodes up to the next field.
    ///
    /// - Parameter block: The rest of a whole header block; what was decoded is taken off its front.
    /// - Returns: The field, or how the block ended.
    mutating func next(_ block: inout UnsafeBufferPointer<UInt8>) -> Step {
        while true {
            var field = nghttp2_nv()
            var flags: Int32 = 0
            let count = nghttp2_hd_inflate_hd2(handle, &field, &flags, block.baseAddress, block.count, 1)
            guard count >= 0 else { return .failed }
            block = UnsafeBufferPointer(rebasing: block[count...])
            if flags & Int32(NGHTTP2_HD_INFLATE_EMIT.rawValue) != 0 {
                return .field(
                    name: UnsafeBufferPointer(start: field.name, count: field.namelen),
                    value: UnsafeBufferPointer(start: field.value, count: field.valuelen)
                )
            }
            if flags & Int32(NGHTTP2_HD_INFLATE_FINAL.rawValue) != 0 {
                nghttp2_hd_inflate_end_headers(handle)
                return .end
            }
            if count == 0 { return .failed }
        }
    }

    /// Whether a field may stand in a response (RFC 9113, 8.2).
    static func isValid(name: UnsafeBufferPointer<UInt8>, value: UnsafeBufferPointer<UInt8>) -> Bool {
        nghttp2_check_header_name(name.baseAddress, name.count) != 0
            && nghttp2_check_header_value(value.baseAddress, value.count) != 0
    }
}
