import TestSupport

/// A frame after which the two sessions see things differently.
struct DivergingStep: CustomStringConvertible {
    let frame: WireFrame
    /// Of the header block that ended with this frame.
    let fields: [HeaderDecoder.Field]
    /// Whether the server had ended this frame's stream before.
    let hadEnded: Bool
    let before: SessionView
    let own: SessionView
    let reference: SessionView

    private var slot: Int? { SentRequests.slot(frame.stream) }

    /// Ours ends the stream where nghttp2 ends the connection.
    var isMilder: Bool {
        slot.map { own.streams[$0].end == .refused && !own.isOver && reference.isOver } ?? false
    }

    /// Ours goes on where nghttp2 ends the connection.
    var isIgnored: Bool { !own.isOver && reference.isOver }

    /// Ours refuses a response that nghttp2 takes.
    var isStricter: Bool {
        guard let slot, !own.isOver, !reference.isOver else { return false }
        return own.streams[slot].end == .refused && reference.streams[slot].end != .refused
    }

    /// Ours takes a response that nghttp2 refuses.
    var isLenient: Bool {
        guard let slot, !own.isOver, !reference.isOver else { return false }
        return reference.streams[slot].end == .refused && own.streams[slot].end != .refused
    }

    /// Both take a response that has no body.
    var isBodiless: Bool {
        guard let slot, !own.isOver, !reference.isOver else { return false }
        return own.streams[slot].status == 204 && own.streams[slot].end == reference.streams[slot].end
    }

    func streamBefore() -> SessionView.Stream? { slot.map { before.streams[$0] } }

    func has(_ name: String) -> Bool { fields.contains { $0.name == name } }

    var description: String {
        """
        after \(frame), fields \(fields.map { "\($0.name): \($0.value)" })
          before:  \(before)
          own:     \(own)
          nghttp2: \(reference)
        """
    }
}

/// One frame of the server's, as far as it came.
struct WireFrame: CustomStringConvertible {
    let bytes: ArraySlice<UInt8>
    let length: Int
    let type: UInt8
    let flags: UInt8
    let stream: Int32

    init(bytes: ArraySlice<UInt8>) {
        self.bytes = bytes
        let header = Array(bytes.prefix(9)) + [UInt8](repeating: 0, count: max(0, 9 - bytes.count))
        length = Int(header[0]) << 16 | Int(header[1]) << 8 | Int(header[2])
        type = header[3]
        flags = header[4]
        stream = Int32(header[5] & 0x7F) << 24 | Int32(header[6]) << 16 | Int32(header[7]) << 8 | Int32(header[8])
    }

    var isWhole: Bool { bytes.count >= 9 && bytes.count == 9 + length }
    /// Longer than we have allowed: that is known before it has come whole.
    var isTooLarge: Bool { bytes.count >= 9 && length > 16_384 }
    var payload: [UInt8] { Array(bytes.dropFirst(9)) }

    /// Of a frame that begins or goes on with a header block: the block is not at its end.
    var leavesBlockOpen: Bool { (type == 1 || type == 9) && flags & 4 == 0 }

    /// Of a frame with a header block: the part of it that is between priority and padding.
    var fragment: [UInt8] {
        var rest = payload[...]
        if type == 1, flags & 8 != 0, let padding = rest.popFirst() { rest = rest.dropLast(Int(padding)) }
        if type == 1, flags & 0x20 != 0 { rest = rest.dropFirst(5) }
        return Array(rest)
    }

    /// Of SETTINGS.
    var settings: [(id: Int, value: UInt32)] {
        stride(from: 0, to: payload.count - 5, by: 6).map { start in
            let part = payload[start..<start + 6]
            return (Int(part[start]) << 8 | Int(part[start + 1]), part.suffix(4).reduce(0) { $0 << 8 | UInt32($1) })
        }
    }

    /// The first four bytes, without the reserved bit.
    var number: UInt32 { payload.prefix(4).reduce(0) { $0 << 8 | UInt32($1) } & 0x7FFF_FFFF }

    var description: String {
        "type \(type), flags \(flags), stream \(stream), \(length) bytes: \(payload.prefix(60))"
    }

    /// Cuts a server's bytes into frames; the last may not be whole.
    static func all(in bytes: [UInt8]) -> [WireFrame] {
        var frames: [WireFrame] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            let frame = WireFrame(bytes: rest.prefix(9 + WireFrame(bytes: rest.prefix(9)).length))
            frames.append(frame)
            rest = rest.dropFirst(frame.bytes.count)
        }
        return frames
    }
}
