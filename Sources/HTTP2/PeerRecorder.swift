/// What the peer of a client session did, in the order in which it did it.
enum PeerAction {
    /// A stream has come to its end; its response, as far as it came, waits at the recorder.
    case closedStream(slot: Int, errorCode: UInt32)
    /// The peer's SETTINGS have changed.
    case settings
    case goAway(lastStream: Int32, errorCode: UInt32, debug: String)
    case pingAcknowledged
}

/// A response as far as it came.
package struct HTTP2ResponseRecord: Sendable {
    /// 0 when no response came.
    package var status = 0
    package var fields = HTTPFields()
    package var body: [UInt8] = []
    /// The body was longer than the connection's limit and is not complete.
    package var isCutShort = false
}

/// Where nghttp2's callbacks write what the peer did; the session's owner reads it after the call.
///
/// A callback must not act: the owner is in the middle of a call on the session.
final class PeerRecorder {
    private struct Slot {
        var body: HTTP2Body?
        var offset = 0
        var response = HTTP2ResponseRecord()
        /// Of names and values, kept or not.
        var fieldBytes = 0
    }

    private(set) var actions: [PeerAction] = []
    private var spare: [PeerAction] = []
    private var slots: [Slot] = []
    /// The fields to keep of a response; `nil` for all of them.
    private let wantedFields: [[UInt8]]?
    /// The same of responses that are not a 200.
    private let wantedErrorFields: [[UInt8]]?
    private let maxBodyBytes: Int
    /// A response whose fields are longer than this is not read on.
    static let maxFieldBytes = 64 * 1024

    init(wantedFields: [String]?, wantedErrorFields: [String]?, maxBodyBytes: Int) {
        self.wantedFields = wantedFields?.map { Array($0.utf8) }
        self.wantedErrorFields = wantedErrorFields?.map { Array($0.utf8) }
        self.maxBodyBytes = maxBodyBytes
    }

    static func from(_ context: UnsafeMutableRawPointer?) -> PeerRecorder {
        guard let context else { preconditionFailure("a session without its recorder") }
        return Unmanaged<PeerRecorder>.fromOpaque(context).takeUnretainedValue()
    }

    // MARK: - For the callbacks

    func record(_ action: PeerAction) { actions.append(action) }

    /// Copies the next bytes of a request's body to where the frame is built.
    ///
    /// - Returns: How many, and whether these are the last.
    func readBody(slot: Int, into buffer: UnsafeMutableRawBufferPointer) -> (count: Int, isLast: Bool) {
        guard let body = slots[slot].body else { return (0, true) }
        let offset = slots[slot].offset
        let count = min(buffer.count, body.count - offset)
        buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: body.bytes[offset..<offset + count]))
        slots[slot].offset = offset + count
        return (count, offset + count == body.count)
    }

    /// - Returns: False: the fields are longer than ``maxFieldBytes``.
    func receivedField(slot: Int, name: UnsafeBufferPointer<UInt8>, value: UnsafeBufferPointer<UInt8>) -> Bool {
        slots[slot].fieldBytes += name.count + value.count
        guard slots[slot].fieldBytes <= Self.maxFieldBytes else { return false }
        if name.first == UInt8(ascii: ":") {
            // The only pseudo-field of a response; nghttp2 has checked that it is three digits. An interim one (1xx) may
            // have come before: its fields are not the response's.
            slots[slot].response = HTTP2ResponseRecord()
            slots[slot].response.status = value.reduce(0) { $0 * 10 + Int($1 &- 0x30) }
            return true
        }
        let wanted = slots[slot].response.status == 200 ? wantedFields : wantedErrorFields
        if let wanted, !wanted.contains(where: { $0.elementsEqual(name) }) { return true }
        slots[slot].response.fields.append(
            String(decoding: name, as: UTF8.self),
            String(decoding: value, as: UTF8.self)
        )
        return true
    }

    func receivedData(slot: Int, _ bytes: UnsafeBufferPointer<UInt8>) {
        if slots[slot].response.body.count + bytes.count > maxBodyBytes {
            slots[slot].response.isCutShort = true
        } else {
            slots[slot].response.body.append(contentsOf: bytes)
        }
    }

    // MARK: - For the owner

    /// Begins a stream in a slot that is free.
    func openSlot(_ slot: Int, body: HTTP2Body?) {
        while slots.count <= slot { slots.append(Slot()) }
        slots[slot].body = body
        slots[slot].offset = 0
        slots[slot].fieldBytes = 0
    }

    /// What came of a response so far.
    func response(of slot: Int) -> HTTP2ResponseRecord { slots[slot].response }

    /// Frees a slot and hands out its response.
    func closeSlot(_ slot: Int) -> HTTP2ResponseRecord {
        slots[slot].body = nil
        guard slots[slot].response.status != 0 else { return HTTP2ResponseRecord() }
        defer { slots[slot].response = HTTP2ResponseRecord() }
        return slots[slot].response
    }

    func takeActions() -> [PeerAction] {
        let taken = actions
        actions = spare
        spare = []
        return taken
    }

    /// Gives the array of a turn back, so that a busy connection does not allocate one a turn.
    func recycle(_ taken: consuming [PeerAction]) {
        taken.removeAll(keepingCapacity: true)
        spare = taken
    }
}
