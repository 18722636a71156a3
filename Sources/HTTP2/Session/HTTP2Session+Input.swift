/// How the peer's bytes become frames, and header blocks fields.
extension HTTP2Session {
    /// Takes what the peer sent; what it did stands in ``actions`` afterwards.
    mutating func receive(_ bytes: UnsafeRawBufferPointer) {
        var rest = bytes.bindMemory(to: UInt8.self)
        while !partial.isEmpty, !rest.isEmpty, !isOver { completePartial(&rest) }
        while !isOver, let base = rest.baseAddress, rest.count >= HTTP2FrameHeader.byteCount {
            let header = HTTP2FrameHeader(base)
            guard isWithinLimit(header) else { return }
            let end = HTTP2FrameHeader.byteCount + header.length
            guard rest.count >= end else { break }
            received(header, UnsafeBufferPointer(rebasing: rest[HTTP2FrameHeader.byteCount..<end]))
            rest = UnsafeBufferPointer(rebasing: rest[end...])
        }
        if !isOver, !rest.isEmpty { partial.append(contentsOf: rest) }
        guard output.count > Self.mostOutputBytes else { return }
        (frameType, frameStream) = (nil, 0)
        fail(HTTP2ErrorCode.enhanceYourCalm, .unreadAnswers)
    }

    /// Moves what is missing of a frame from the front of `rest`, and takes the frame when it is whole.
    private mutating func completePartial(_ rest: inout UnsafeBufferPointer<UInt8>) {
        let header = partial.withUnsafeBufferPointer { bytes in
            bytes.count < HTTP2FrameHeader.byteCount ? nil : bytes.baseAddress.map { HTTP2FrameHeader($0) }
        }
        if let header, !isWithinLimit(header) { return }
        let wanted = HTTP2FrameHeader.byteCount + (header?.length ?? 0)
        let count = min(rest.count, wanted - partial.count)
        partial.append(contentsOf: rest[..<count])
        rest = UnsafeBufferPointer(rebasing: rest[count...])
        guard let header, partial.count == wanted else {
            if header == nil, partial.count == wanted { completedHeader() }
            return
        }
        let whole = partial
        partial = []
        whole.withUnsafeBufferPointer {
            received(header, UnsafeBufferPointer(rebasing: $0[HTTP2FrameHeader.byteCount...]))
        }
        partial = whole
        partial.removeAll(keepingCapacity: true)
    }

    /// A frame without payload is whole with its header, and one that is too large is known by it.
    private mutating func completedHeader() {
        let header = partial.withUnsafeBufferPointer { $0.baseAddress.map { HTTP2FrameHeader($0) } }
        guard let header, isWithinLimit(header), header.length == 0 else { return }
        partial.removeAll(keepingCapacity: true)
        received(header, UnsafeBufferPointer(start: nil, count: 0))
    }

    private mutating func isWithinLimit(_ header: HTTP2FrameHeader) -> Bool {
        guard header.length > HTTP2Frame.smallestLimit else { return !isOver }
        (frameType, frameStream) = (header.type, header.stream)
        fail(HTTP2ErrorCode.frameSizeError, .frameSize)
        return false
    }

    private mutating func received(_ header: HTTP2FrameHeader, _ payload: UnsafeBufferPointer<UInt8>) {
        (frameType, frameStream) = (header.type, header.stream)
        guard hasPeerSettings || (header.type == HTTP2Frame.settings && !header.has(HTTP2Frame.acknowledged)) else {
            return fail(HTTP2ErrorCode.protocolError, .settingsFirst)
        }
        guard blockOwner == nil || (header.type == HTTP2Frame.continuation && header.stream == blockOwner?.stream)
        else { return fail(HTTP2ErrorCode.protocolError, .unbrokenBlock) }
        switch header.type {
        case HTTP2Frame.headers: receivedHeaders(header, payload)
        case HTTP2Frame.data: receivedData(header, payload)
        case HTTP2Frame.windowUpdate: receivedWindowUpdate(header, payload)
        case HTTP2Frame.reset: receivedReset(header, payload)
        case HTTP2Frame.settings: receivedSettings(header, payload)
        case HTTP2Frame.ping: receivedPing(header, payload)
        case HTTP2Frame.goAway: receivedGoAway(header, payload)
        case HTTP2Frame.continuation: receivedContinuation(header, payload)
        // We have switched pushes off.
        case HTTP2Frame.pushPromise: fail(HTTP2ErrorCode.protocolError, .noPushes)
        case HTTP2Frame.priority where header.stream == 0: fail(HTTP2ErrorCode.protocolError, .streamNumber)
        case HTTP2Frame.priority where header.length != 5: fail(HTTP2ErrorCode.frameSizeError, .payloadLength)
        // What we do not know is passed over (RFC 9113, 4.1).
        default: break
        }
    }

    /// What is between the padding, or `nil` after an error.
    mutating func unpadded(
        _ header: HTTP2FrameHeader,
        _ payload: UnsafeBufferPointer<UInt8>
    ) -> UnsafeBufferPointer<UInt8>? {
        guard header.has(HTTP2Frame.padded) else { return payload }
        guard let padding = payload.first, Int(padding) < payload.count else {
            fail(HTTP2ErrorCode.protocolError, .padding)
            return nil
        }
        return UnsafeBufferPointer(rebasing: payload[1..<payload.count - Int(padding)])
    }

    /// Whether a frame may come on this stream: one that we have opened, whether or not it is closed by now.
    mutating func isOurs(_ stream: Int32) -> Bool {
        let isOurs = stream & 1 == 1 && (nextNumber == 0 || stream < nextNumber)
        if !isOurs { fail(HTTP2ErrorCode.protocolError, .streamNumber) }
        return isOurs
    }

    // MARK: - Header blocks

    private mutating func receivedHeaders(_ header: HTTP2FrameHeader, _ payload: UnsafeBufferPointer<UInt8>) {
        guard isOurs(header.stream), var fragment = unpadded(header, payload) else { return }
        if header.has(HTTP2Frame.hasPriority) {
            guard fragment.count >= 5 else { return fail(HTTP2ErrorCode.frameSizeError, .payloadLength) }
            fragment = UnsafeBufferPointer(rebasing: fragment[5...])
        }
        let endsStream = header.has(HTTP2Frame.endStream)
        if header.has(HTTP2Frame.endHeaders) {
            return receivedBlock(fragment, stream: header.stream, endsStream: endsStream)
        }
        blockOwner = (header.stream, endsStream)
        continuations = 0
        block.append(contentsOf: fragment)
    }

    private mutating func receivedContinuation(_ header: HTTP2FrameHeader, _ payload: UnsafeBufferPointer<UInt8>) {
        guard let (stream, endsStream) = blockOwner else { return fail(HTTP2ErrorCode.protocolError, .unbrokenBlock) }
        // Empty ones count too, by their number.
        continuations += 1
        guard continuations <= Self.mostContinuations, block.count + payload.count <= Self.mostBlockBytes else {
            return fail(HTTP2ErrorCode.enhanceYourCalm, .blockLength)
        }
        block.append(contentsOf: payload)
        guard header.has(HTTP2Frame.endHeaders) else { return }
        let whole = block
        block = []
        blockOwner = nil
        whole.withUnsafeBufferPointer { receivedBlock($0, stream: stream, endsStream: endsStream) }
    }

    private mutating func receivedBlock(_ bytes: UnsafeBufferPointer<UInt8>, stream: Int32, endsStream: Bool) {
        guard let slot = numbers[stream] else {
            // The peer did not know yet that it is closed; its table has changed all the same.
            return skipBlock(bytes)
        }
        // `:status: 200` and nothing else, the most frequent of all: no table is touched.
        if bytes.count == 1, bytes[0] == 0x88, streams[slot].phase == .awaiting {
            streams[slot].response.status = 200
            streams[slot].phase = .answering
            if endsStream { receivedEnd(slot) }
            return
        }
        guard streams[slot].phase != .answered else {
            skipBlock(bytes)
            return fail(stream: stream, HTTP2ErrorCode.streamClosed, .nothingAfterEnd)
        }
        var reading = ResponseFields(isTrailer: streams[slot].phase == .answering)
        // A new response takes the place of an interim one.
        if !reading.isTrailer { streams[slot].response = HTTP2ResponseRecord() }
        var rest = bytes
        decoding: while true {
            switch inflater.next(&rest) {
            case .field(let name, let value):
                if reading.takes(name, value) { receivedField(slot, reading, name, value) }
            case .end: break decoding
            case .failed: return fail(HTTP2ErrorCode.compressionError, .decodableBlock)
            }
        }
        if let rule = reading.brokenRule(endsStream: endsStream) {
            return fail(stream: stream, HTTP2ErrorCode.protocolError, rule)
        }
        // Only now: a block that contradicts itself, or does not come to its end, tells nothing.
        if !reading.isTrailer { streams[slot].response.status = reading.status }
        if reading.isTooLong {
            // Ours is the limit: what was answered stands.
            streams[slot].response.fields = HTTPFields()
            return submitReset(stream: stream, code: HTTP2ErrorCode.protocolError)
        }
        if reading.isFinal {
            streams[slot].promisedBytes = reading.promisedBytes
            streams[slot].phase = .answering
        } else if !reading.isTrailer {
            streams[slot].response = HTTP2ResponseRecord()
        }
        if endsStream { receivedEnd(slot) }
    }

    private mutating func receivedField(
        _ slot: Int,
        _ reading: ResponseFields,
        _ name: UnsafeBufferPointer<UInt8>,
        _ value: UnsafeBufferPointer<UInt8>
    ) {
        let status = reading.isTrailer ? streams[slot].response.status : reading.status
        let wanted = status == 200 ? wantedFields : wantedErrorFields
        if let wanted, !wanted.contains(where: { $0.elementsEqual(name) }) { return }
        streams[slot].response.fields.append(
            String(decoding: name, as: UTF8.self),
            String(decoding: value, as: UTF8.self)
        )
    }

    private mutating func skipBlock(_ bytes: UnsafeBufferPointer<UInt8>) {
        var rest = bytes
        while true {
            switch inflater.next(&rest) {
            case .field: continue
            case .end: return
            case .failed: return fail(HTTP2ErrorCode.compressionError, .decodableBlock)
            }
        }
    }

    /// The peer has sent the last of a stream.
    mutating func receivedEnd(_ slot: Int) {
        guard streams[slot].phase == .answering, streams[slot].isWhole else {
            return fail(stream: streams[slot].number, HTTP2ErrorCode.protocolError, .contentLength)
        }
        streams[slot].phase = .answered
        if streams[slot].body == nil { close(slot, code: HTTP2ErrorCode.noError) }
    }
}
