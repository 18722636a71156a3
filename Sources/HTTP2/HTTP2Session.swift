internal import CNghttp2

/// Owns one `nghttp2_session`, client side. Not thread-safe: it lives inside one connection.
///
/// Streams are known by their slot, a small number that the owner chooses and may use again once the stream is closed.
struct HTTP2Session: ~Copyable {
    private let handle: OpaquePointer  // nghttp2_session *
    private let context: Unmanaged<PeerRecorder>  // +1, the callbacks' user data
    let recorder: PeerRecorder

    /// Opens the session and submits the first SETTINGS.
    ///
    /// - Parameters:
    ///   - wantedFields: The response fields to keep, in lower case; `nil` keeps all.
    ///   - wantedErrorFields: The same where the status is not 200; `nil`: as `wantedFields`.
    ///   - maxBodyBytes: What is kept of a response's body.
    ///   - firstStream: The first stream's number, odd.
    /// - Throws: ``HTTP2Error/library(code:)`` when nghttp2 is out of memory.
    init(
        wantedFields: [String]?,
        wantedErrorFields: [String]? = nil,
        maxBodyBytes: Int,
        firstStream: Int32 = 1
    ) throws(HTTP2Error) {
        recorder = PeerRecorder(
            wantedFields: wantedFields,
            wantedErrorFields: wantedErrorFields ?? wantedFields,
            maxBodyBytes: maxBodyBytes
        )
        (handle, context) = try openClientSession(recorder)
        if firstStream != 1 { _ = nghttp2_session_set_next_stream_id(handle, firstStream) }
    }

    deinit {
        nghttp2_session_del(handle)
        context.release()
    }

    /// Parses what the peer sent; what it did stands in the recorder afterwards.
    mutating func receive(_ bytes: UnsafeRawBufferPointer) throws(HTTP2Error) {
        let consumed = nghttp2_session_mem_recv(
            handle,
            bytes.bindMemory(to: UInt8.self).baseAddress,
            bytes.count
        )
        guard consumed >= 0 else { throw .library(code: Int32(consumed)) }
    }

    /// The next bytes to send, valid until the next call; `nil` when there are none for now.
    mutating func nextOutput() throws(HTTP2Error) -> UnsafeRawBufferPointer? {
        var bytes: UnsafePointer<UInt8>?
        let count = nghttp2_session_mem_send(handle, &bytes)
        guard count >= 0 else { throw .library(code: Int32(count)) }
        guard count > 0, let bytes else { return nil }
        return UnsafeRawBufferPointer(start: bytes, count: count)
    }

    /// Submits a request on a new stream.
    ///
    /// - Parameters:
    ///   - template: Must stay alive until the stream is closed.
    ///   - values: Copied.
    ///   - body: Held until the stream is closed.
    ///   - slot: Free.
    ///   - indexesValues: Whether the varying values may enter the peer's dynamic table.
    /// - Returns: The stream's number.
    /// - Throws: ``HTTP2Error/library(code:)``, for one when the stream numbers of the connection are used up.
    mutating func submit(
        _ template: HTTP2RequestTemplate,
        _ values: borrowing HTTP2FieldValues,
        body: HTTP2Body?,
        slot: Int,
        indexesValues: Bool
    ) throws(HTTP2Error) -> Int32 {
        recorder.openSlot(slot, body: body)
        var provider = nghttp2_data_provider()
        provider.source.fd = Int32(slot)
        provider.read_callback = { _, _, buffer, capacity, flags, source, context in
            guard let source, let flags else { return Int(NGHTTP2_ERR_CALLBACK_FAILURE.rawValue) }
            let (count, isLast) = PeerRecorder.from(context).readBody(
                slot: Int(source.pointee.fd),
                into: UnsafeMutableRawBufferPointer(start: buffer, count: capacity)
            )
            if isLast { flags.pointee |= UInt32(NGHTTP2_DATA_FLAG_EOF.rawValue) }
            return count
        }
        let stream = template.withFields(values, indexesValues: indexesValues) { fields in
            let hasBody = (body?.count ?? 0) > 0
            return withUnsafePointer(to: &provider) { provider in
                nghttp2_submit_request(
                    handle,
                    nil,
                    fields.baseAddress,
                    fields.count,
                    hasBody ? provider : nil,
                    UnsafeMutableRawPointer(bitPattern: slot + 1)
                )
            }
        }
        guard stream > 0 else {
            _ = recorder.closeSlot(slot)
            throw .library(code: stream)
        }
        return stream
    }

    mutating func submitReset(stream: Int32, code: UInt32) {
        _ = nghttp2_submit_rst_stream(handle, UInt8(NGHTTP2_FLAG_NONE.rawValue), stream, code)
    }

    mutating func submitPing() {
        _ = nghttp2_submit_ping(handle, UInt8(NGHTTP2_FLAG_NONE.rawValue), nil)
    }

    /// Says goodbye: no error, no streams of the peer's were processed.
    mutating func submitGoAway() {
        _ = nghttp2_session_terminate_session(handle, UInt32(NGHTTP2_NO_ERROR.rawValue))
    }

    /// How many streams the peer allows at once.
    var remoteStreamLimit: Int {
        Int(nghttp2_session_get_remote_settings(handle, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS))
    }

    /// How many bytes of bodies the peer's connection window takes now.
    var remoteWindowBytes: Int { Int(nghttp2_session_get_remote_window_size(handle)) }

    /// Whether the session has come to its end, by a GOAWAY of ours or an error.
    var isOver: Bool {
        nghttp2_session_want_read(handle) == 0 && nghttp2_session_want_write(handle) == 0
    }
}

/// Builds a session whose callbacks record into `recorder`, and submits our SETTINGS.
private func openClientSession(
    _ recorder: PeerRecorder
) throws(HTTP2Error) -> (OpaquePointer, Unmanaged<PeerRecorder>) {
    var option: OpaquePointer?
    guard nghttp2_option_new(&option) == 0, let option else {
        throw .library(code: NGHTTP2_ERR_NOMEM.rawValue)
    }
    defer { nghttp2_option_del(option) }
    // Closed streams would be kept for a priority tree that nobody asks for.
    nghttp2_option_set_no_closed_streams(option, 1)

    let callbacks = try makeCallbacks()
    defer { nghttp2_session_callbacks_del(callbacks) }
    let context = Unmanaged.passRetained(recorder)
    var session: OpaquePointer?
    var result = nghttp2_session_client_new2(&session, callbacks, context.toOpaque(), option)
    guard result == 0, let session else {
        context.release()
        throw .library(code: result)
    }

    let settings: [(nghttp2_settings_id, UInt32)] = [
        (NGHTTP2_SETTINGS_ENABLE_PUSH, 0),
        (NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 1 << 20),
        // Spares both sides the old priority tree (RFC 9218, 2.1).
        (NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1),
    ]
    let entries = settings.map { nghttp2_settings_entry(settings_id: Int32($0.0.rawValue), value: $0.1) }
    result = nghttp2_submit_settings(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), entries, entries.count)
    guard result == 0 else {
        nghttp2_session_del(session)
        context.release()
        throw .library(code: result)
    }
    return (session, context)
}

/// A callback captures nothing, finds its recorder through the user data, and only records.
private func makeCallbacks() throws(HTTP2Error) -> OpaquePointer {
    var callbacks: OpaquePointer?
    guard nghttp2_session_callbacks_new(&callbacks) == 0, let callbacks else {
        throw .library(code: NGHTTP2_ERR_NOMEM.rawValue)
    }
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) { session, stream, code, context in
        if let slot = slot(of: stream, in: session) {
            PeerRecorder.from(context).record(.closedStream(slot: slot, errorCode: code))
        }
        return 0
    }
    nghttp2_session_callbacks_set_on_header_callback(callbacks) {
        session,
        frame,
        name,
        nameCount,
        value,
        valueCount,
        _,
        context in
        guard let frame, let slot = slot(of: frame.pointee.hd.stream_id, in: session) else { return 0 }
        let fits = PeerRecorder.from(context).receivedField(
            slot: slot,
            name: UnsafeBufferPointer(start: name, count: nameCount),
            value: UnsafeBufferPointer(start: value, count: valueCount)
        )
        // Resets the stream and keeps the connection.
        return fits ? 0 : NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue
    }
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) { session, _, stream, bytes, count, context in
        if let slot = slot(of: stream, in: session) {
            PeerRecorder.from(context).receivedData(slot: slot, UnsafeBufferPointer(start: bytes, count: count))
        }
        return 0
    }
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { _, frame, context in
        guard let frame else { return 0 }
        switch UInt32(frame.pointee.hd.type) {
        case NGHTTP2_SETTINGS.rawValue where frame.pointee.hd.flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) == 0:
            PeerRecorder.from(context).record(.settings)
        case NGHTTP2_PING.rawValue where frame.pointee.hd.flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) != 0:
            PeerRecorder.from(context).record(.pingAcknowledged)
        case NGHTTP2_GOAWAY.rawValue:
            let goAway = frame.pointee.goaway
            let debug = UnsafeBufferPointer(start: goAway.opaque_data, count: goAway.opaque_data_len)
            PeerRecorder.from(context).record(
                .goAway(
                    lastStream: goAway.last_stream_id,
                    errorCode: goAway.error_code,
                    debug: String(decoding: debug.prefix(256), as: UTF8.self)
                )
            )
        default: break
        }
        return 0
    }

    return callbacks
}

/// The owner's slot of a stream; `nil` for a stream that is not ours.
private func slot(of stream: Int32, in session: OpaquePointer?) -> Int? {
    guard let context = nghttp2_session_get_stream_user_data(session, stream) else { return nil }
    return Int(bitPattern: context) - 1
}
