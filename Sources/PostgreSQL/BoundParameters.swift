/// Parameters as libpq takes them: one buffer for all, and a pointer, a length and a format for each.
///
/// Text format throughout, but for `bytea` and `bytea[]`, which would double in size.
struct BoundParameters {
    private var storage: [UInt8] = []
    /// Where each value starts; nil is NULL.
    private var starts: [Int?] = []
    private var lengths: [Int32] = []
    private var formats: [Int32] = []
    /// libpq would cut a text off there, and PostgreSQL keeps none.
    private(set) var hasNUL = false

    init(_ values: [PGValue]) {
        starts.reserveCapacity(values.count)
        for value in values { append(value) }
    }

    /// Calls `body` with arrays that are valid only inside it.
    func withPointers<Result>(
        _ body: (
            _ count: Int32, _ values: UnsafePointer<UnsafePointer<CChar>?>?, _ lengths: UnsafePointer<Int32>?,
            _ formats: UnsafePointer<Int32>?
        ) -> Result
    ) -> Result {
        storage.withUnsafeBytes { bytes in
            let base = bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
            let pointers: [UnsafePointer<CChar>?] = starts.map { start in start.flatMap { base?.advanced(by: $0) } }
            return pointers.withUnsafeBufferPointer { pointers in
                lengths.withUnsafeBufferPointer { lengths in
                    formats.withUnsafeBufferPointer { formats in
                        body(Int32(starts.count), pointers.baseAddress, lengths.baseAddress, formats.baseAddress)
                    }
                }
            }
        }
    }

    private mutating func append(_ value: PGValue) {
        switch value {
        case .bytes(let bytes): appendBinary { $0.append(contentsOf: bytes) }
        case .byteaArray(let values): appendBinary { appendBinaryArray(values, to: &$0) }
        default:
            if let text = value.textForm {
                appendText(text)
            } else {
                starts.append(nil)
                lengths.append(0)
                formats.append(0)
            }
        }
    }

    private mutating func appendText(_ text: String) {
        let start = storage.count
        if text.utf8.contains(0) { hasNUL = true }
        storage.append(contentsOf: text.utf8)
        finish(from: start, format: 0)
    }

    private mutating func appendBinary(_ write: (inout [UInt8]) -> Void) {
        let start = storage.count
        write(&storage)
        finish(from: start, format: 1)
    }

    private mutating func finish(from start: Int, format: Int32) {
        starts.append(start)
        lengths.append(Int32(storage.count - start))
        formats.append(format)
        storage.append(0)
    }
}

/// PostgreSQL's binary form of a one-dimensional `bytea[]`.
///
/// Dimensions, flags (1: has NULLs), element type (17), size and lower bound, then each element after its length (-1:
/// NULL), all big-endian 32-bit numbers. Source: PostgreSQL, `array_recv`.
private func appendBinaryArray(_ values: [[UInt8]?], to bytes: inout [UInt8]) {
    func append(_ number: Int32) {
        withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
    }
    append(values.isEmpty ? 0 : 1)
    append(values.contains { $0 == nil } ? 1 : 0)
    append(17)
    guard !values.isEmpty else { return }
    append(Int32(values.count))
    append(1)
    for value in values {
        append(value.map { Int32($0.count) } ?? -1)
        if let value { bytes.append(contentsOf: value) }
    }
}
