// SETTINGS and flow control.
extension LeanSession {
    mutating func settingsArrived(_ head: LeanFrame, _ payload: UnsafeRawBufferPointer) {
        if head.has(LeanFrame.acknowledgement) {
            if !pendingLimits.isEmpty, let limit = pendingLimits.removeFirst() { acknowledgedLimit = limit }
            return
        }
        guard payload.count % 6 == 0 else { return fail(LeanErrorCode.frameSize) }
        for position in stride(from: 0, to: payload.count, by: 6) {
            let name = UInt16(bigEndian: payload.loadUnaligned(fromByteOffset: position, as: UInt16.self))
            let value = UInt32(bigEndian: payload.loadUnaligned(fromByteOffset: position + 2, as: UInt32.self))
            if name == 4 {  // INITIAL_WINDOW_SIZE
                guard value <= 0x7FFF_FFFF else { return fail(LeanErrorCode.flowControl) }
                flow.setInitial(Int(value))
            }
        }
        output.frame(LeanFrame.settings, flags: LeanFrame.acknowledgement)
        sendBodies()
    }

    mutating func windowUpdateArrived(_ head: LeanFrame, _ payload: UnsafeRawBufferPointer) {
        guard payload.count == 4 else { return fail(LeanErrorCode.frameSize) }
        let bytes = Int(UInt32(bigEndian: payload.loadUnaligned(as: UInt32.self)) & 0x7FFF_FFFF)
        guard bytes > 0 else { return fail(LeanErrorCode.protocolError) }
        if head.stream == 0 {
            flow.connection += bytes
            guard flow.connection <= 0x7FFF_FFFF else { return fail(LeanErrorCode.flowControl) }
        } else if streams[head.stream] != .none {
            flow.credit[head.stream, default: 0] += bytes
        }
        sendBodies()
    }

    /// A body goes out as far as the peer's windows let it.
    mutating func send(_ body: [UInt8], on stream: Int32, endsStream: Bool = true) {
        flow.waiting.append(LeanFlow.Body(stream: stream, bytes: body[...], endsStream: endsStream))
        sendBodies()
    }

    mutating func sendBodies() {
        while let part = flow.next(most: LeanFrame.mostPayloadBytes) {
            let flags = part.endsStream ? LeanFrame.endStream : 0
            output.frame(LeanFrame.data, flags: flags, stream: part.stream, part.bytes)
            if part.endsStream { end(part.stream) }
        }
    }

    /// Tells the peer how many streams it may open.
    mutating func announce(_ limit: Int?) {
        guard let limit else { return }
        output.settings([3: limit])
        pendingLimits.append(limit)
    }

    /// A scripted limit's time is over, unless another has come since.
    mutating func unpin(_ number: Int) {
        guard number == pins else { return }
        pins = 0
        announce(limit.pin(nil))
    }
}

/// The peer's windows, and the bodies that wait for them.
struct LeanFlow {
    struct Body {
        let stream: Int32
        var bytes: ArraySlice<UInt8>
        let endsStream: Bool
    }

    var connection = 65_535
    private var initial = 65_535
    /// Of a stream, on top of the initial window.
    var credit: [Int32: Int] = [:]
    var waiting: [Body] = []

    mutating func setInitial(_ bytes: Int) { initial = bytes }

    /// Forgets the body of a stream.
    mutating func drop(_ stream: Int32) {
        credit[stream] = nil
        waiting.removeAll { $0.stream == stream }
    }

    /// The next frame that the windows have room for.
    mutating func next(most: Int) -> (stream: Int32, bytes: ArraySlice<UInt8>, endsStream: Bool)? {
        guard connection > 0 else { return nil }
        for index in waiting.indices {
            let stream = waiting[index].stream
            let room = min(connection, initial + credit[stream, default: 0], most)
            guard room > 0 || waiting[index].bytes.isEmpty else { continue }
            let part = waiting[index].bytes.prefix(max(0, room))
            waiting[index].bytes = waiting[index].bytes.dropFirst(part.count)
            connection -= part.count
            credit[stream, default: 0] -= part.count
            let isLast = waiting[index].bytes.isEmpty
            let endsStream = isLast && waiting[index].endsStream
            if isLast { waiting.remove(at: index) }
            if endsStream { credit[stream] = nil }
            return (stream, part, endsStream)
        }
        return nil
    }
}
