internal import CNghttp2

/// Opens a session whose callbacks write to `record`. Fails only for want of memory, and traps then.
func openServerSession(
    _ record: UnsafeMutablePointer<ServerRecord>,
    _ configuration: HTTP2ServerConfiguration
) -> OpaquePointer {
    var callbacks: OpaquePointer?
    var options: OpaquePointer?
    nghttp2_session_callbacks_new(&callbacks)
    nghttp2_option_new(&options)
    defer {
        nghttp2_session_callbacks_del(callbacks)
        nghttp2_option_del(options)
    }
    setFrameCallbacks(callbacks)
    setContentCallbacks(callbacks)
    // Streams that have ended are of no use without priorities.
    nghttp2_option_set_no_closed_streams(options, 1)
    // Streamed bodies get their credit when they are handed over.
    if configuration.offersStreaming { nghttp2_option_set_no_auto_window_update(options, 1) }
    // ServerFloodGuard counts resets itself, by limits that can be set.
    nghttp2_option_set_stream_reset_rate_limit(options, 1 << 40, 1 << 40)
    var session: OpaquePointer?
    let code = nghttp2_session_server_new2(&session, callbacks, record, options)
    guard code == 0, let session else { preconditionFailure("nghttp2_session_server_new2: \(code)") }
    return session
}

/// What every mode needs: when a request is complete, when a stream ends, what the peer does wrong.
private func setFrameCallbacks(_ callbacks: OpaquePointer?) {
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks) { _, frame, context in
        guard let frame else { return 0 }
        let isTrailer = frame.pointee.headers.cat != NGHTTP2_HCAT_REQUEST
        ServerRecord.from(context).pointee.beginHeaders(isTrailer: isTrailer)
        return 0
    }
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { _, frame, context in
        guard let frame else { return 0 }
        recordFrame(frame, in: ServerRecord.from(context))
        return 0
    }
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) { _, stream, code, context in
        ServerRecord.from(context).pointee.closed(stream: stream, code: code)
        return 0
    }
    nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(callbacks) { session, frame, code, context in
        guard let frame, frame.pointee.hd.type == UInt8(NGHTTP2_HEADERS.rawValue) else { return 0 }
        let record = ServerRecord.from(context)
        let stream = frame.pointee.hd.stream_id
        let limit = nghttp2_session_get_local_settings(session, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS)
        if code == NGHTTP2_ERR_REFUSED_STREAM.rawValue {
            record.pointee.actions.append(.refused(stream: stream, acknowledged: false))
        } else if code == NGHTTP2_ERR_PROTO.rawValue, record.pointee.openStreams >= Int(limit) {
            record.pointee.actions.append(.refused(stream: stream, acknowledged: true))
        }
        return 0
    }
}

private func recordFrame(_ frame: UnsafePointer<nghttp2_frame>, in record: UnsafeMutablePointer<ServerRecord>) {
    let header = frame.pointee.hd
    let endsStream = header.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0
    switch UInt32(header.type) {
    case NGHTTP2_HEADERS.rawValue:
        record.pointee.endHeaders(stream: header.stream_id, endsStream: endsStream)
    case NGHTTP2_DATA.rawValue:
        if endsStream {
            record.pointee.endRequest(stream: header.stream_id)
        } else if header.length == 0 {
            record.pointee.controlFrames += 1
        }
    case NGHTTP2_RST_STREAM.rawValue:
        record.pointee.peerResets += 1
        // With another code the stream's closing tells it.
        if frame.pointee.rst_stream.error_code == 0 {
            record.pointee.actions.append(.closed(stream: header.stream_id, code: 0))
        }
    case NGHTTP2_SETTINGS.rawValue:
        record.pointee.hasPeerSettings = true
        record.pointee.controlFrames += 1
    case NGHTTP2_PING.rawValue:
        if header.flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) != 0 {
            record.pointee.actions.append(.pingAcknowledged)
        }
        record.pointee.controlFrames += 1
    case NGHTTP2_PRIORITY.rawValue:
        record.pointee.controlFrames += 1
    default: break
    }
}

/// What is needed to keep a request's fields and body.
private func setContentCallbacks(_ callbacks: OpaquePointer?) {
    nghttp2_session_callbacks_set_on_header_callback(callbacks) {
        _,
        _,
        name,
        nameBytes,
        value,
        valueBytes,
        _,
        context in
        ServerRecord.from(context).pointee.addField(
            name: UnsafeBufferPointer(start: name, count: nameBytes),
            value: UnsafeBufferPointer(start: value, count: valueBytes)
        )
        return 0
    }
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) { session, _, stream, data, count, context in
        let record = ServerRecord.from(context)
        let reception = record.pointee.addBody(stream: stream, UnsafeBufferPointer(start: data, count: count))
        if record.pointee.offersStreaming { nghttp2_session_consume_connection(session, count) }
        switch reception {
        case .credit: if record.pointee.offersStreaming { nghttp2_session_consume_stream(session, stream, count) }
        case .hold: break
        case .reset(let code):
            nghttp2_submit_rst_stream(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), stream, code)
        }
        return 0
    }
}
