internal import CNghttp2

/// Owns one `nghttp2_session`, server side. Not thread-safe: it lives inside one connection actor.
///
/// Callbacks only record (``ServerRecord``); the owner takes the record's actions after each call and acts.
struct HTTP2ServerSession: ~Copyable {
    private let handle: OpaquePointer  // nghttp2_session *
    let record: UnsafeMutablePointer<ServerRecord>
    /// Memory of the name-value list, kept between answers.
    private var list: [nghttp2_nv] = []

    init(configuration: HTTP2ServerConfiguration) {
        record = .allocate(capacity: 1)
        record.initialize(to: ServerRecord(configuration: configuration))
        handle = openServerSession(record, configuration)
        submitSettings(configuration)
    }

    deinit {
        nghttp2_session_del(handle)
        record.deinitialize(count: 1)
        record.deallocate()
    }

    /// Parses `bytes`; what the peer did stands in the record.
    ///
    /// - Returns: Whether the connection can go on; not after a broken preface or a flood that nghttp2 stopped.
    mutating func receive(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let base = bytes.baseAddress else { return true }
        let consumed = nghttp2_session_mem_recv(handle, base.assumingMemoryBound(to: UInt8.self), bytes.count)
        return consumed == bytes.count
    }

    /// The next piece of output, valid until the next call; `nil` when nothing waits.
    mutating func nextOutput() -> UnsafeRawBufferPointer? {
        var bytes: UnsafePointer<UInt8>?
        let count = nghttp2_session_mem_send(handle, &bytes)
        guard count > 0, let bytes else { return nil }
        return UnsafeRawBufferPointer(start: bytes, count: count)
    }

    /// GOAWAY has gone out, or came in, and no stream is left.
    var isDone: Bool { nghttp2_session_want_read(handle) == 0 && nghttp2_session_want_write(handle) == 0 }

    var lastStream: Int32 { nghttp2_session_get_last_proc_stream_id(handle) }

    /// The limit that the peer has acknowledged.
    var maxConcurrentStreams: UInt32 {
        nghttp2_session_get_local_settings(handle, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS)
    }

    // MARK: Submitting

    /// Answers a stream; ignored when it has ended already.
    ///
    /// - Parameters:
    ///   - stream: Of the peer's.
    ///   - head: `:status` first.
    ///   - body: Or its beginning.
    ///   - isOpen: More of the body follows by ``append(stream:_:isLast:)``.
    mutating func respond(stream: Int32, head: borrowing HTTP2HeaderBlock, body: [UInt8], isOpen: Bool = false) {
        guard nghttp2_session_find_stream(handle, stream) != nil, record.pointee.outgoing[stream] == nil else { return }
        let hasBody = !body.isEmpty || isOpen
        if hasBody { record.pointee.outgoing[stream] = .init(bytes: body, isOpen: isOpen) }
        var provider = nghttp2_data_provider()
        provider.read_callback = { _, stream, buffer, length, flags, _, context in
            let part = UnsafeMutableRawBufferPointer(start: buffer, count: length)
            guard let filled = ServerRecord.from(context).pointee.fill(stream: stream, part) else {
                return Int(NGHTTP2_ERR_DEFERRED.rawValue)
            }
            if filled.isLast { flags?.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue }
            return filled.count
        }
        let code = withList(head) { [handle] list in
            guard hasBody else { return nghttp2_submit_response(handle, stream, list.baseAddress, list.count, nil) }
            return nghttp2_submit_response(handle, stream, list.baseAddress, list.count, &provider)
        }
        if code != 0 { record.pointee.outgoing[stream] = nil }
        if !record.pointee.discarding.isEmpty { record.pointee.discarding[stream]?.since = .now }
    }

    /// Adds to an answer that was left open. Returns how many bytes of it wait, or `nil` when its stream is gone.
    mutating func append(stream: Int32, _ bytes: [UInt8], isLast: Bool) -> Int? {
        guard let index = record.pointee.outgoing.index(forKey: stream) else { return nil }
        record.pointee.outgoing.values[index].bytes += bytes
        record.pointee.outgoing.values[index].isOpen = !isLast
        let waiting = record.pointee.outgoing.values[index].waitingBytes
        nghttp2_session_resume_data(handle, stream)
        return waiting
    }

    /// Gives the peer credit for bytes of a stream that were held.
    mutating func credit(stream: Int32, _ bytes: Int) {
        if bytes > 0 { nghttp2_session_consume_stream(handle, stream, bytes) }
    }

    /// nghttp2 copies the names and values before it returns.
    private mutating func withList(
        _ head: borrowing HTTP2HeaderBlock,
        _ body: (UnsafeBufferPointer<nghttp2_nv>) -> Int32
    ) -> Int32 {
        var list = self.list
        self.list = []
        list.removeAll(keepingCapacity: true)
        let marks = head.marks
        let code = head.bytes.withUnsafeBufferPointer { bytes in
            guard let base = bytes.baseAddress else { return Int32(NGHTTP2_ERR_INVALID_ARGUMENT.rawValue) }
            let start = UnsafeMutablePointer(mutating: base)
            var position = 0
            for mark in marks {
                let (nameEnd, valueEnd) = (Int(mark.nameEnd), Int(mark.valueEnd))
                list.append(
                    nghttp2_nv(
                        name: start + position,
                        value: start + nameEnd,
                        namelen: nameEnd - position,
                        valuelen: valueEnd - nameEnd,
                        flags: UInt8(NGHTTP2_NV_FLAG_NONE.rawValue)
                    )
                )
                position = valueEnd
            }
            return list.withUnsafeBufferPointer(body)
        }
        self.list = list
        return code
    }

    mutating func reset(stream: Int32, code: UInt32) {
        nghttp2_submit_rst_stream(handle, UInt8(NGHTTP2_FLAG_NONE.rawValue), stream, code)
    }

    /// `lastStream` may not be raised above one that was told before: nghttp2 lowers it then.
    mutating func goAway(lastStream: Int32, code: UInt32, debug: [UInt8]) {
        let flags = UInt8(NGHTTP2_FLAG_NONE.rawValue)
        let result = nghttp2_submit_goaway(handle, flags, lastStream, code, debug, debug.count)
        precondition(result == 0, "GOAWAY with last stream \(lastStream): \(result)")
    }

    /// The first of two GOAWAYs: streams that are on their way are still taken (RFC 9113, 6.8).
    mutating func shutdownNotice() {
        nghttp2_submit_shutdown_notice(handle)
    }

    mutating func ping() {
        nghttp2_submit_ping(handle, UInt8(NGHTTP2_FLAG_NONE.rawValue), nil)
    }

    mutating func submitMaxConcurrentStreams(_ limit: Int) {
        submit([(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, limit)])
    }

    private func submitSettings(_ configuration: HTTP2ServerConfiguration) {
        submit([
            (NGHTTP2_SETTINGS_HEADER_TABLE_SIZE, configuration.headerTableBytes),
            (NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, configuration.maxConcurrentStreams),
            (NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, configuration.streamWindowBytes),
            (NGHTTP2_SETTINGS_MAX_FRAME_SIZE, configuration.maxFrameBytes),
            (NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, configuration.maxHeaderListBytes),
        ])
        nghttp2_session_set_local_window_size(
            handle,
            UInt8(NGHTTP2_FLAG_NONE.rawValue),
            0,
            Int32(clamping: configuration.connectionWindowBytes)
        )
    }

    private func submit(_ settings: [(nghttp2_settings_id, Int)]) {
        let entries = settings.map {
            nghttp2_settings_entry(settings_id: Int32($0.0.rawValue), value: UInt32(clamping: $0.1))
        }
        let result = nghttp2_submit_settings(handle, UInt8(NGHTTP2_FLAG_NONE.rawValue), entries, entries.count)
        precondition(result == 0, "SETTINGS out of range: \(settings)")
    }
}
