/// A request's body in memory that does not move, shared by all requests that carry it.
///
/// nghttp2 reads it when flow control lets it, long after the request was submitted.
package final class HTTP2Body: @unchecked Sendable {
    // Sendable unchecked: written before `init` returns, and never again.
    let bytes: UnsafeRawBufferPointer

    package init(_ bytes: [UInt8]) {
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
        memory.copyBytes(from: bytes)
        self.bytes = UnsafeRawBufferPointer(memory)
    }

    deinit { bytes.deallocate() }

    package var count: Int { bytes.count }
}
