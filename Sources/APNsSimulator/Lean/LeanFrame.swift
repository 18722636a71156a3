/// The head of an HTTP/2 frame as the lean listener reads it (RFC 9113, 4.1).
struct LeanFrame {
    static let headBytes = 9
    /// `SETTINGS_MAX_FRAME_SIZE`, ours and every peer's at least.
    static let mostPayloadBytes = 16_384

    // By number (RFC 9113, 6).
    static let data: UInt8 = 0
    static let headers: UInt8 = 1
    static let resetStream: UInt8 = 3
    static let settings: UInt8 = 4
    static let pushPromise: UInt8 = 5
    static let ping: UInt8 = 6
    static let goAway: UInt8 = 7
    static let windowUpdate: UInt8 = 8
    static let continuation: UInt8 = 9

    static let endStream: UInt8 = 0x1
    static let acknowledgement: UInt8 = 0x1
    static let endHeaders: UInt8 = 0x4
    static let padded: UInt8 = 0x8
    static let priority: UInt8 = 0x20

    let length: Int
    let kind: UInt8
    let flags: UInt8
    let stream: Int32

    /// Reads nine bytes.
    init(_ head: UnsafeRawPointer) {
        let front = UInt64(bigEndian: head.loadUnaligned(as: UInt64.self))
        length = Int(front >> 40)
        kind = UInt8(truncatingIfNeeded: front >> 32)
        flags = UInt8(truncatingIfNeeded: front >> 24)
        let number = UInt32(truncatingIfNeeded: front) << 8 | UInt32(head.load(fromByteOffset: 8, as: UInt8.self))
        stream = Int32(truncatingIfNeeded: number & 0x7FFF_FFFF)
    }

    func has(_ flag: UInt8) -> Bool { flags & flag != 0 }

    /// A header block or body without its padding and priority; nil when they do not fit.
    func content(of payload: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
        var (start, end) = (0, payload.count)
        if has(Self.padded) {
            guard let padding = payload.first else { return nil }
            start = 1
            end -= Int(padding)
        }
        if kind == Self.headers, has(Self.priority) { start += 5 }
        return start <= end ? UnsafeRawBufferPointer(rebasing: payload[start..<end]) : nil
    }
}

/// Error codes that the lean listener uses (RFC 9113, 7).
enum LeanErrorCode {
    static let none: UInt32 = 0
    static let protocolError: UInt32 = 1
    static let flowControl: UInt32 = 3
    static let frameSize: UInt32 = 6
    static let refusedStream: UInt32 = 7
    static let compression: UInt32 = 9
    static let enhanceYourCalm: UInt32 = 11
}
