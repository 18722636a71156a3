import CNghttp2
import TestSupport

/// nghttp2's client session with ``SentRequests`` under way, set up as ours is.
final class ReferenceClient {
    private let handle: OpaquePointer  // nghttp2_session *
    private let record: Record

    /// What the callbacks write to.
    final class Record {
        fileprivate(set) var view = SessionView(streams: SentRequests.bodyBytes.map { _ in SessionView.Stream() })
        /// Of the header block that is being read: kept when the whole frame is well-formed.
        fileprivate var block: [(name: String, value: String)] = []
        fileprivate var left = SentRequests.bodyBytes

        fileprivate static func from(_ context: UnsafeMutableRawPointer?) -> Record {
            guard let context else { preconditionFailure("no record") }
            return Unmanaged<Record>.fromOpaque(context).takeUnretainedValue()
        }

        fileprivate static func text(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> String {
            String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self)
        }

        fileprivate func closed(_ stream: Int32, _ code: UInt32) {
            guard let slot = SentRequests.slot(stream) else { return }
            if view.streams[slot].end == .open { view.streams[slot].end = .closed(code: code) }
        }

        fileprivate func received(_ frame: nghttp2_frame) {
            switch UInt32(frame.hd.type) {
            case NGHTTP2_HEADERS.rawValue: tookBlock(frame.hd.stream_id)
            case NGHTTP2_GOAWAY.rawValue: view.goAways += 1
            default: break
            }
        }

        private func tookBlock(_ stream: Int32) {
            guard let slot = SentRequests.slot(stream) else { return }
            let status = block.first { $0.name == ":status" }.flatMap { Int($0.value) }
            // An interim response is not the response.
            if let status, 100..<200 ~= status { return }
            if let status { view.streams[slot].status = status }
            view.streams[slot].fields += block.filter { !$0.name.hasPrefix(":") }.map { "\($0.name): \($0.value)" }
        }
    }

    init() {
        record = Record()
        var callbacks: OpaquePointer?
        nghttp2_session_callbacks_new(&callbacks)
        defer { nghttp2_session_callbacks_del(callbacks) }
        Self.set(callbacks)
        var session: OpaquePointer?
        let context = Unmanaged.passUnretained(record).toOpaque()
        guard nghttp2_session_client_new(&session, callbacks, context) == 0, let session else {
            preconditionFailure("out of memory")
        }
        handle = session
        let settings: [nghttp2_settings_entry] = [
            nghttp2_settings_entry(settings_id: 2, value: 0), nghttp2_settings_entry(settings_id: 4, value: 1 << 20),
            nghttp2_settings_entry(settings_id: 9, value: 1),
        ]
        nghttp2_submit_settings(handle, 0, settings, settings.count)
        for slot in SentRequests.bodyBytes.indices { submit(slot) }
        send()
    }

    deinit { nghttp2_session_del(handle) }

    var view: SessionView { record.view }

    /// It has nothing to do any more: the peer has said goodbye, and every stream has ended.
    var isDone: Bool { nghttp2_session_want_read(handle) == 0 && nghttp2_session_want_write(handle) == 0 }

    /// Reads the server's bytes, and writes what that leads to.
    func receive(_ bytes: some Collection<UInt8>) {
        let bytes = Array(bytes)
        let count = nghttp2_session_mem_recv(handle, bytes, bytes.count)
        if count < 0 { record.view.isOver = true }
        send()
        record.view.streamLimit = nghttp2_session_get_remote_settings(
            handle,
            NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS
        )
    }

    private func submit(_ slot: Int) {
        let fields: [(StaticString, StaticString)] = [
            (":method", SentRequests.methods[slot] == "HEAD" ? "HEAD" : "POST"), (":scheme", "https"),
            (":authority", "localhost"), (":path", "/"),
        ]
        let values = fields.map { name, value in
            nghttp2_nv(
                name: UnsafeMutablePointer(mutating: name.utf8Start),
                value: UnsafeMutablePointer(mutating: value.utf8Start),
                namelen: name.utf8CodeUnitCount,
                valuelen: value.utf8CodeUnitCount,
                flags: 0
            )
        }
        var provider = nghttp2_data_provider()
        provider.read_callback = { _, stream, buffer, length, flags, _, context in
            let record = Record.from(context)
            guard let slot = SentRequests.slot(stream) else { return 0 }
            let count = min(length, record.left[slot])
            buffer?.update(repeating: 7, count: count)
            record.left[slot] -= count
            if record.left[slot] == 0 { flags?.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue }
            return count
        }
        let hasBody = SentRequests.bodyBytes[slot] > 0
        withUnsafePointer(to: provider) {
            _ = nghttp2_submit_request(handle, nil, values, values.count, hasBody ? $0 : nil, nil)
        }
    }

    private func send() {
        while true {
            var bytes: UnsafePointer<UInt8>?
            guard nghttp2_session_mem_send(handle, &bytes) > 0 else { return }
        }
    }

    private static func set(_ callbacks: OpaquePointer?) {
        nghttp2_session_callbacks_set_on_header_callback(callbacks) {
            _,
            _,
            name,
            nameBytes,
            value,
            valueBytes,
            _,
            context in
            Record.from(context).block.append((Record.text(name, nameBytes), Record.text(value, valueBytes)))
            return 0
        }
        // Without it nghttp2 passes over fields that RFC 9113, 8.2.1 calls malformed.
        nghttp2_session_callbacks_set_on_invalid_header_callback(callbacks) { _, _, _, _, _, _, _, _ in
            NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue
        }
        nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks) { _, _, context in
            Record.from(context).block = []
            return 0
        }
        nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { _, frame, context in
            if let frame { Record.from(context).received(frame.pointee) }
            return 0
        }
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) { _, _, stream, bytes, count, context in
            let chunk = UnsafeBufferPointer(start: bytes, count: count)
            guard let slot = SentRequests.slot(stream) else { return 0 }
            Record.from(context).view.streams[slot].body.append(contentsOf: chunk)
            return 0
        }
        nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) { _, stream, code, context in
            Record.from(context).closed(stream, code)
            return 0
        }
        nghttp2_session_callbacks_set_on_frame_send_callback(callbacks) { _, frame, context in
            guard let frame else { return 0 }
            let record = Record.from(context)
            let slot = SentRequests.slot(frame.pointee.hd.stream_id)
            switch UInt32(frame.pointee.hd.type) {
            case NGHTTP2_DATA.rawValue: if let slot { record.view.streams[slot].sentBytes += frame.pointee.hd.length }
            case NGHTTP2_RST_STREAM.rawValue: if let slot { record.view.streams[slot].end = .refused }
            case NGHTTP2_SETTINGS.rawValue, NGHTTP2_PING.rawValue:
                record.view.answers += Int(frame.pointee.hd.flags & 1)
            case NGHTTP2_GOAWAY.rawValue: record.view.isOver = true
            default: break
            }
            return 0
        }
    }
}
