/// What each kind of frame does. Source: RFC 9113, 6.
extension HTTP2Session {
    mutating func receivedData(_ header: HTTP2FrameHeader, _ payload: UnsafeBufferPointer<UInt8>) {
        guard isOurs(header.stream), let bytes = unpadded(header, payload) else { return }
        // Padding counts, and so does what comes for a stream that is closed by now.
        connectionReceiveWindow -= payload.count
        guard connectionReceiveWindow >= 0 else { return fail(HTTP2ErrorCode.flowControlError, .window) }
        if connectionReceiveWindow <= HTTP2Frame.initialWindow / 2 {
            writeWindowUpdate(HTTP2Frame.initialWindow - connectionReceiveWindow, stream: 0)
            connectionReceiveWindow = HTTP2Frame.initialWindow
        }
        guard let slot = numbers[header.stream] else { return }
        guard streams[slot].phase != .answered else {
            return fail(stream: header.stream, HTTP2ErrorCode.streamClosed, .nothingAfterEnd)
        }
        guard streams[slot].phase == .answering else {
            return fail(stream: header.stream, HTTP2ErrorCode.protocolError, .fieldsBeforeBody)
        }
        streams[slot].receiveWindow -= payload.count
        guard streams[slot].receiveWindow >= 0 else {
            return fail(stream: header.stream, HTTP2ErrorCode.flowControlError, .window)
        }
        streams[slot].receivedBytes += bytes.count
        guard !streams[slot].isTooLong else {
            return fail(stream: header.stream, HTTP2ErrorCode.protocolError, .contentLength)
        }
        if streams[slot].response.body.count + bytes.count > maxBodyBytes {
            streams[slot].response.isCutShort = true
        } else {
            streams[slot].response.body.append(contentsOf: bytes)
        }
        if header.has(HTTP2Frame.endStream) { return receivedEnd(slot) }
        if streams[slot].receiveWindow <= Self.streamWindow / 2 {
            writeWindowUpdate(Self.streamWindow - streams[slot].receiveWindow, stream: header.stream)
            streams[slot].receiveWindow = Self.streamWindow
        }
    }

    mutating func receivedReset(_ header: HTTP2FrameHeader, _ payload: UnsafeBufferPointer<UInt8>) {
        guard let base = payload.baseAddress, payload.count == 4 else {
            return fail(HTTP2ErrorCode.frameSizeError, .payloadLength)
        }
        guard isOurs(header.stream), let slot = numbers[header.stream] else { return }
        // A peer that has answered need not hear the rest of a request (RFC 9113, 8.1).
        close(slot, code: HTTP2Frame.integer(base))
    }

    mutating func receivedWindowUpdate(_ header: HTTP2FrameHeader, _ payload: UnsafeBufferPointer<UInt8>) {
        guard let base = payload.baseAddress, payload.count == 4 else {
            return fail(HTTP2ErrorCode.frameSizeError, .payloadLength)
        }
        let increment = Int(HTTP2Frame.integer(base) & 0x7FFF_FFFF)
        if header.stream == 0 {
            guard increment > 0 else { return fail(HTTP2ErrorCode.protocolError, .windowIncrement) }
            connectionSendWindow += increment
            guard connectionSendWindow <= HTTP2Frame.largestWindow else {
                return fail(HTTP2ErrorCode.flowControlError, .windowIncrement)
            }
            return
        }
        guard isOurs(header.stream), let slot = numbers[header.stream] else { return }
        guard increment > 0 else {
            return fail(stream: header.stream, HTTP2ErrorCode.protocolError, .windowIncrement)
        }
        streams[slot].sendWindow += increment
        guard streams[slot].sendWindow > HTTP2Frame.largestWindow else { return }
        fail(stream: header.stream, HTTP2ErrorCode.flowControlError, .windowIncrement)
    }

    mutating func receivedPing(_ header: HTTP2FrameHeader, _ payload: UnsafeBufferPointer<UInt8>) {
        guard header.stream == 0 else { return fail(HTTP2ErrorCode.protocolError, .streamNumber) }
        guard let base = payload.baseAddress, payload.count == 8 else {
            return fail(HTTP2ErrorCode.frameSizeError, .payloadLength)
        }
        // The answer to ours has done its work by coming.
        guard !header.has(HTTP2Frame.acknowledged) else { return }
        writeFrame(HTTP2Frame.ping, flags: HTTP2Frame.acknowledged, payloadBytes: 8) { $0.update(from: base, count: 8) }
    }

    mutating func receivedGoAway(_ header: HTTP2FrameHeader, _ payload: UnsafeBufferPointer<UInt8>) {
        guard header.stream == 0 else { return fail(HTTP2ErrorCode.protocolError, .streamNumber) }
        guard let base = payload.baseAddress, payload.count >= 8 else {
            return fail(HTTP2ErrorCode.frameSizeError, .payloadLength)
        }
        let last = Int32(truncatingIfNeeded: HTTP2Frame.integer(base) & 0x7FFF_FFFF)
        // It may only fall: what was given back may have been sent elsewhere.
        guard last <= lastGoAway else { return fail(HTTP2ErrorCode.protocolError, .goAwayRises) }
        lastGoAway = last
        goAwayCode = HTTP2Frame.integer(base + 4)
        goAwayText = String(decoding: payload[8...].prefix(256), as: UTF8.self)
        record(.goAway)
        for slot in streams.indices where streams[slot].number > last {
            close(slot, code: HTTP2ErrorCode.refusedStream)
        }
    }

    // MARK: - SETTINGS

    mutating func receivedSettings(_ header: HTTP2FrameHeader, _ payload: UnsafeBufferPointer<UInt8>) {
        guard header.stream == 0 else { return fail(HTTP2ErrorCode.protocolError, .streamNumber) }
        guard payload.count.isMultiple(of: 6), !header.has(HTTP2Frame.acknowledged) || payload.isEmpty else {
            return fail(HTTP2ErrorCode.frameSizeError, .payloadLength)
        }
        guard !header.has(HTTP2Frame.acknowledged) else { return }
        hasPeerSettings = true
        if let base = payload.baseAddress {
            for place in stride(from: 0, to: payload.count, by: 6) {
                let value = HTTP2Frame.integer(base + place + 2)
                if let code = apply(setting: UInt16(base[place]) << 8 | UInt16(base[place + 1]), value) {
                    return fail(code, .settingValue)
                }
            }
        }
        writeFrame(HTTP2Frame.settings, flags: HTTP2Frame.acknowledged, payloadBytes: 0) { _ in }
        record(.settings)
    }

    /// Returns the error of a value that is out of bounds.
    private mutating func apply(setting: UInt16, _ value: UInt32) -> UInt32? {
        switch setting {
        case 1: encoder.setPeerTableBytes(Int(value))
        // A server must not allow pushes to itself; 9 is RFC 9218's.
        case 2 where value != 0, 9 where value > 1: return HTTP2ErrorCode.protocolError
        case 3: remoteStreamLimit = Int(value)
        case 4: return setStreamWindow(Int(value))
        case 5:
            guard 16_384...16_777_215 ~= value else { return HTTP2ErrorCode.protocolError }
            peerFrameLimit = Int(value)
        default: break
        }
        return nil
    }

    /// Open streams' windows move by the difference (RFC 9113, 6.9.2).
    private mutating func setStreamWindow(_ bytes: Int) -> UInt32? {
        guard bytes <= HTTP2Frame.largestWindow else { return HTTP2ErrorCode.flowControlError }
        let difference = bytes - peerStreamWindow
        peerStreamWindow = bytes
        for slot in streams.indices where streams[slot].number > 0 {
            streams[slot].sendWindow += difference
            if streams[slot].sendWindow > HTTP2Frame.largestWindow { return HTTP2ErrorCode.flowControlError }
        }
        return nil
    }
}
