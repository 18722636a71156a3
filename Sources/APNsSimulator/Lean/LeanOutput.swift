/// Frames on their way out, in one piece of memory that is kept between turns.
struct LeanOutput: ~Copyable {
    private var memory: UnsafeMutableRawBufferPointer
    private(set) var count = 0

    init() { memory = .allocate(byteCount: 16 << 10, alignment: 16) }

    deinit { memory.deallocate() }

    var isEmpty: Bool { count == 0 }

    /// Hands over what was gathered, and begins anew.
    mutating func take(_ body: (UnsafeRawBufferPointer) -> Void) {
        body(UnsafeRawBufferPointer(rebasing: memory[..<count]))
        count = 0
    }

    mutating func removeAll() { count = 0 }

    // MARK: - Frames

    /// `:status` 200 and the stream's end, which is all that a success has to say: ten bytes.
    mutating func success(stream: Int32) {
        reserve(10)
        let number = UInt64(UInt32(bitPattern: stream))
        let front: UInt64 = 0x0000_0101_0500_0000 | number >> 8
        memory.storeBytes(of: front.bigEndian, toByteOffset: count, as: UInt64.self)
        memory[count + 8] = UInt8(truncatingIfNeeded: number)
        memory[count + 9] = 0x88  // static table, entry 8 (RFC 7541, A)
        count += 10
    }

    mutating func frame(_ kind: UInt8, flags: UInt8 = 0, stream: Int32 = 0, _ payload: some Collection<UInt8> = []) {
        reserve(LeanFrame.headBytes + payload.count)
        let front = UInt64(payload.count) << 40 | UInt64(kind) << 32 | UInt64(flags) << 24
        let number = UInt64(UInt32(bitPattern: stream))
        memory.storeBytes(of: (front | number >> 8).bigEndian, toByteOffset: count, as: UInt64.self)
        memory[count + 8] = UInt8(truncatingIfNeeded: number)
        count += LeanFrame.headBytes
        for byte in payload {
            memory[count] = byte
            count += 1
        }
    }

    mutating func settings(_ values: KeyValuePairs<UInt16, Int>) {
        var payload: [UInt8] = []
        for (name, value) in values {
            payload += [UInt8(name >> 8), UInt8(name & 0xFF)] + Self.bytes(UInt32(clamping: value))
        }
        frame(LeanFrame.settings, payload)
    }

    mutating func windowUpdate(stream: Int32, by bytes: Int) {
        frame(LeanFrame.windowUpdate, stream: stream, Self.bytes(UInt32(clamping: bytes)))
    }

    mutating func reset(stream: Int32, code: UInt32) {
        frame(LeanFrame.resetStream, stream: stream, Self.bytes(code))
    }

    mutating func goAway(lastStream: Int32, code: UInt32, debug: [UInt8]) {
        let last = UInt32(bitPattern: lastStream)
        frame(LeanFrame.goAway, Self.bytes(last) + Self.bytes(code) + debug)
    }

    /// Frames that were made elsewhere.
    mutating func raw(_ bytes: [UInt8]) {
        reserve(bytes.count)
        for byte in bytes {
            memory[count] = byte
            count += 1
        }
    }

    private static func bytes(_ value: UInt32) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: value >> UInt32(24 - 8 * $0)) }
    }

    private mutating func reserve(_ more: Int) {
        guard memory.count - count < more else { return }
        let larger = UnsafeMutableRawBufferPointer.allocate(
            byteCount: max(2 * memory.count, count + more),
            alignment: 16
        )
        larger.copyMemory(from: UnsafeRawBufferPointer(rebasing: memory[..<count]))
        memory.deallocate()
        memory = larger
    }
}
