/// Bytes on their way out: appended at the end, taken from the front, in one piece of memory that is kept.
///
/// Owns its memory. Grows without a limit of its own: who appends asks ``count`` first.
struct WriteBuffer: ~Copyable {
    private var storage: UnsafeMutableRawBufferPointer
    private var start = 0
    private var end = 0

    init(capacity: Int) {
        storage = .allocate(byteCount: capacity, alignment: 16)
    }

    deinit { storage.deallocate() }

    var count: Int { end - start }

    var isEmpty: Bool { start == end }

    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        guard let source = bytes.baseAddress, bytes.count > 0 else { return }
        if storage.count - end < bytes.count { makeRoom(for: bytes.count) }
        guard let base = storage.baseAddress else { return }
        (base + end).copyMemory(from: source, byteCount: bytes.count)
        end += bytes.count
    }

    /// Room for `count` bytes behind the last; they are ours once ``commit(_:)`` says how many were written.
    @inline(__always)
    mutating func reserve(_ count: Int) -> UnsafeMutablePointer<UInt8> {
        if storage.count - end < count { makeRoom(for: count) }
        guard let base = storage.baseAddress else { preconditionFailure("a buffer without memory") }
        return (base + end).assumingMemoryBound(to: UInt8.self)
    }

    /// Takes the first `count` bytes of what was reserved.
    mutating func commit(_ count: Int) {
        end += count
        precondition(end <= storage.count, "wrote \(end - storage.count) bytes more than there was room for")
    }

    /// The first bytes, at most `limit` of them; valid within `body` only.
    func withFront<Result>(_ limit: Int, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        body(UnsafeRawBufferPointer(rebasing: storage[start..<min(end, start + limit)]))
    }

    mutating func removeFirst(_ count: Int) {
        start += count
        precondition(start <= end, "took \(start - end) bytes more than there were")
        if start == end {
            start = 0
            end = 0
        }
    }

    /// Moves what is left to the front, into larger memory if it must.
    private mutating func makeRoom(for more: Int) {
        let kept = count
        if kept + more <= storage.count, let base = storage.baseAddress {
            base.copyMemory(from: base + start, byteCount: kept)
        } else {
            let larger = UnsafeMutableRawBufferPointer.allocate(
                byteCount: max(storage.count * 2, kept + more),
                alignment: 16
            )
            larger.copyMemory(from: UnsafeRawBufferPointer(rebasing: storage[start..<end]))
            storage.deallocate()
            storage = larger
        }
        start = 0
        end = kept
    }
}
