/// How requests and answers are written.
extension HTTP2Session {
    /// Writes a header block, in several frames if the peer takes none that large.
    mutating func writeHeaders(
        _ template: HTTP2RequestTemplate,
        _ values: borrowing HTTP2FieldValues,
        stream: Int32,
        endsStream: Bool
    ) {
        let header = HTTP2FrameHeader.byteCount
        let most = RequestEncoder.mostBytes(template, values)
        let place = output.reserve(header + most + most / HTTP2Frame.smallestLimit * header)
        let count = encoder.encode(template, values, to: place + header)
        let endStream = endsStream ? HTTP2Frame.endStream : 0
        // The last piece first, since each moves up by the headers of those in front of it.
        let pieces = max(1, (count + peerFrameLimit - 1) / peerFrameLimit)
        for piece in (0..<pieces).reversed() {
            let start = piece * peerFrameLimit
            let length = min(peerFrameLimit, count - start)
            let target = place + start + piece * header
            if piece > 0 { (target + header).update(from: place + header + start, count: length) }
            HTTP2Frame.write(
                length: length,
                type: piece == 0 ? HTTP2Frame.headers : HTTP2Frame.continuation,
                flags: (piece == 0 ? endStream : 0) | (piece == pieces - 1 ? HTTP2Frame.endHeaders : 0),
                stream: stream,
                to: target
            )
        }
        output.commit(count + pieces * header)
    }

    /// Writes as much of the waiting bodies as the windows and `limit` allow, a frame of each in turn.
    ///
    /// - Parameter limit: Of unsent output, in bytes: a large body is not copied before there is room for it.
    mutating func sendBodies(upTo limit: Int = 4 * HTTP2Frame.smallestLimit) {
        var isProgressing = !sending.isEmpty
        while isProgressing, connectionSendWindow > 0, output.count < limit {
            isProgressing = false
            var kept = 0
            for index in sending.indices {
                let (slot, number) = sending[index]
                // Its slot may have another stream by now.
                guard streams[slot].number == number, let body = streams[slot].body else { continue }
                let count = min(
                    body.count - streams[slot].sentBytes,
                    peerFrameLimit,
                    connectionSendWindow,
                    streams[slot].sendWindow
                )
                if count > 0, output.count < limit {
                    isProgressing = true
                    sendPart(of: body, count, slot: slot)
                    if streams[slot].body == nil { continue }
                }
                sending[kept] = (slot, number)
                kept += 1
            }
            sending.removeLast(sending.count - kept)
        }
    }

    private mutating func sendPart(of body: HTTP2Body, _ count: Int, slot: Int) {
        let start = streams[slot].sentBytes
        let isLast = start + count == body.count
        writeData(
            UnsafeRawBufferPointer(rebasing: body.bytes[start..<start + count]),
            stream: streams[slot].number,
            endsStream: isLast
        )
        streams[slot].sentBytes += count
        streams[slot].sendWindow -= count
        unsentBytes -= count
        guard isLast else { return }
        streams[slot].body = nil
        if streams[slot].phase == .answered { close(slot, code: HTTP2ErrorCode.noError) }
    }

    /// Writes one DATA frame, which the windows have room for.
    mutating func writeData(_ bytes: UnsafeRawBufferPointer, stream: Int32, endsStream: Bool) {
        let header = HTTP2FrameHeader.byteCount
        let place = output.reserve(header + bytes.count)
        HTTP2Frame.write(
            length: bytes.count,
            type: HTTP2Frame.data,
            flags: endsStream ? HTTP2Frame.endStream : 0,
            stream: stream,
            to: place
        )
        if let source = bytes.baseAddress {
            UnsafeMutableRawPointer(place + header).copyMemory(from: source, byteCount: bytes.count)
        }
        output.commit(header + bytes.count)
        connectionSendWindow -= bytes.count
    }

    mutating func writeFrame(
        _ type: UInt8,
        flags: UInt8 = 0,
        stream: Int32 = 0,
        payloadBytes: Int,
        _ payload: (UnsafeMutablePointer<UInt8>) -> Void
    ) {
        let place = output.reserve(HTTP2FrameHeader.byteCount + payloadBytes)
        HTTP2Frame.write(length: payloadBytes, type: type, flags: flags, stream: stream, to: place)
        payload(place + HTTP2FrameHeader.byteCount)
        output.commit(HTTP2FrameHeader.byteCount + payloadBytes)
    }

    mutating func writeWindowUpdate(_ bytes: Int, stream: Int32) {
        writeFrame(HTTP2Frame.windowUpdate, stream: stream, payloadBytes: 4) {
            HTTP2Frame.write(UInt32(bytes), to: $0)
        }
    }

    mutating func writeGoAway(code: UInt32) {
        writeFrame(HTTP2Frame.goAway, payloadBytes: 8) {
            HTTP2Frame.write(0, to: $0)
            HTTP2Frame.write(code, to: $0 + 4)
        }
    }
}
