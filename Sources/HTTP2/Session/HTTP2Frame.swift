/// The nine bytes in front of each frame, and the numbers of RFC 9113 that stand in them.
struct HTTP2FrameHeader {
    static let byteCount = 9

    let length: Int
    let type: UInt8
    let flags: UInt8
    let stream: Int32

    /// - Parameter bytes: At least ``byteCount`` of them.
    @inline(__always)
    init(_ bytes: UnsafePointer<UInt8>) {
        length = Int(bytes[0]) << 16 | Int(bytes[1]) << 8 | Int(bytes[2])
        type = bytes[3]
        flags = bytes[4]
        stream = Int32(truncatingIfNeeded: HTTP2Frame.integer(bytes + 5) & 0x7FFF_FFFF)
    }

    func has(_ flag: UInt8) -> Bool { flags & flag != 0 }
}

enum HTTP2Frame {
    static let data: UInt8 = 0
    static let headers: UInt8 = 1
    static let priority: UInt8 = 2
    static let reset: UInt8 = 3
    static let settings: UInt8 = 4
    static let pushPromise: UInt8 = 5
    static let ping: UInt8 = 6
    static let goAway: UInt8 = 7
    static let windowUpdate: UInt8 = 8
    static let continuation: UInt8 = 9

    static let endStream: UInt8 = 0x1
    static let acknowledged: UInt8 = 0x1  // of SETTINGS and PING
    static let endHeaders: UInt8 = 0x4
    static let padded: UInt8 = 0x8
    static let hasPriority: UInt8 = 0x20

    /// What a client sends first (RFC 9113, 3.4).
    static let preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
    /// The longest frame that we allow, and everybody must take (RFC 9113, 4.2).
    static let smallestLimit = 16_384
    static let initialWindow = 65_535
    static let largestWindow = Int(Int32.max)

    @inline(__always)
    static func integer(_ bytes: UnsafePointer<UInt8>) -> UInt32 {
        UInt32(bigEndian: UnsafeRawPointer(bytes).loadUnaligned(as: UInt32.self))
    }

    @inline(__always)
    static func write(
        length: Int,
        type: UInt8,
        flags: UInt8,
        stream: Int32,
        to place: UnsafeMutablePointer<UInt8>
    ) {
        place[0] = UInt8(truncatingIfNeeded: length >> 16)
        place[1] = UInt8(truncatingIfNeeded: length >> 8)
        place[2] = UInt8(truncatingIfNeeded: length)
        place[3] = type
        place[4] = flags
        write(UInt32(bitPattern: stream), to: place + 5)
    }

    @inline(__always)
    static func write(_ value: UInt32, to place: UnsafeMutablePointer<UInt8>) {
        UnsafeMutableRawPointer(place).storeBytes(of: value.bigEndian, as: UInt32.self)
    }
}

/// Error codes of RFC 9113, 7.
package enum HTTP2ErrorCode {
    static let noError: UInt32 = 0
    static let protocolError: UInt32 = 1
    static let flowControlError: UInt32 = 3
    static let streamClosed: UInt32 = 5
    static let frameSizeError: UInt32 = 6
    static let refusedStream: UInt32 = 7
    static let cancel: UInt32 = 8
    static let compressionError: UInt32 = 9
    package static let enhanceYourCalm: UInt32 = 11
}
