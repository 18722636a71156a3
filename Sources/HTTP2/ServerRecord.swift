internal import CNghttp2

/// What nghttp2's callbacks write down while it parses, and what it reads from while it sends.
///
/// Lives in memory of its own that the callbacks reach by a pointer: no reference counting on the way.
struct ServerRecord {
    /// What the peer did, or what became of a stream. Small and without references: thousands a turn cost nothing.
    enum Action {
        case request(stream: Int32)
        /// A request that is too large, and the status that says so. The rest of it is dropped.
        case oversize(stream: Int32, status: Int)
        /// The stream ended before it was answered whole.
        case closed(stream: Int32, code: UInt32)
        /// The peer opened more streams than we allow; `acknowledged`: it had been told.
        case refused(stream: Int32, acknowledged: Bool)
        case pingAcknowledged
    }

    struct Incoming {
        var request = HTTP2ServerRequest()
        var since: ContinuousClock.Instant
    }

    struct Outgoing {
        var bytes: [UInt8]
        var offset = 0
    }

    /// The rest of a request that was refused: let in and dropped, so that a client reads the answer before it is cut off.
    /// (RST_STREAM with NO_ERROR, RFC 9113, 8.1, would be the rule's way; curl 7.88 then loses the answer.)
    struct Discarding {
        var bytesLeft: Int
        let since: ContinuousClock.Instant
    }

    let keepsContent: Bool
    let maxHeaderListBytes: Int
    let maxBodyBytes: Int
    let maxBufferedBytes: Int

    var actions: [Action] = []
    /// Requests being read, or read and not yet handed over.
    var incoming: [Int32: Incoming] = [:]
    var bufferedBytes = 0
    /// Bodies of answers being sent.
    var outgoing: [Int32: Outgoing] = [:]
    var discarding: [Int32: Discarding] = [:]

    /// The time of the bytes being parsed.
    var now = ContinuousClock.now
    var openStreams = 0
    var peerResets = 0
    var controlFrames = 0
    var hasPeerSettings = false
    var headerBlockSince: ContinuousClock.Instant?

    private var current = HTTP2ServerRequest()
    private var currentIsTrailer = false
    private var currentIsOversize = false

    init(configuration: HTTP2ServerConfiguration) {
        if case .whole = configuration.reading { keepsContent = true } else { keepsContent = false }
        maxHeaderListBytes = configuration.maxHeaderListBytes
        maxBodyBytes = configuration.maxBodyBytes
        maxBufferedBytes = configuration.maxBufferedBytes
    }

    static func from(_ context: UnsafeMutableRawPointer?) -> UnsafeMutablePointer<ServerRecord> {
        guard let context else { preconditionFailure("a callback without its record") }
        return context.assumingMemoryBound(to: ServerRecord.self)
    }

    // MARK: Heads

    mutating func beginHeaders(isTrailer: Bool) {
        currentIsTrailer = isTrailer
        currentIsOversize = false
        headerBlockSince = now
        if !isTrailer { openStreams += 1 }
    }

    mutating func addField(name: UnsafeBufferPointer<UInt8>, value: UnsafeBufferPointer<UInt8>) {
        guard !currentIsOversize, !currentIsTrailer else { return }
        guard current.head.listBytes + name.count + value.count + 32 <= maxHeaderListBytes else {
            currentIsOversize = true
            return
        }
        current.head.append(name, value)
    }

    /// The header block is complete; the request too if the stream ends here.
    mutating func endHeaders(stream: Int32, endsStream: Bool) {
        headerBlockSince = nil
        if currentIsTrailer || !keepsContent {
            if endsStream { endRequest(stream: stream) }
            return
        }
        let request = current
        current = HTTP2ServerRequest()
        guard !currentIsOversize else {
            actions.append(.oversize(stream: stream, status: 431))
            if !endsStream { discard(stream: stream) }
            return
        }
        incoming[stream] = Incoming(request: request, since: now)
        if endsStream { endRequest(stream: stream) }
    }

    // MARK: Bodies

    /// Returns the code to reset the stream with, if it must be.
    mutating func addBody(stream: Int32, _ bytes: UnsafeBufferPointer<UInt8>) -> UInt32? {
        guard let index = incoming.index(forKey: stream) else { return discard(stream: stream, bytes.count) }
        let size = incoming.values[index].request.body.count
        guard size + bytes.count <= maxBodyBytes else {
            forget(stream: stream)
            discard(stream: stream)
            actions.append(.oversize(stream: stream, status: 413))
            return nil
        }
        guard bufferedBytes + bytes.count <= maxBufferedBytes else {
            forget(stream: stream)
            return NGHTTP2_ENHANCE_YOUR_CALM.rawValue
        }
        bufferedBytes += bytes.count
        incoming.values[index].request.body.append(contentsOf: bytes)
        return nil
    }

    /// Drops what a refused request still brings, up to as much as would have been kept.
    mutating func discard(stream: Int32) {
        discarding[stream] = Discarding(bytesLeft: maxBufferedBytes, since: now)
    }

    private mutating func discard(stream: Int32, _ bytes: Int) -> UInt32? {
        guard let index = discarding.index(forKey: stream) else { return nil }
        discarding.values[index].bytesLeft -= bytes
        return discarding.values[index].bytesLeft < 0 ? NGHTTP2_NO_ERROR.rawValue : nil
    }

    mutating func endRequest(stream: Int32) {
        guard !keepsContent || incoming[stream] != nil else { return }
        actions.append(.request(stream: stream))
    }

    /// Hands a complete request over.
    mutating func take(stream: Int32) -> HTTP2ServerRequest? {
        guard let taken = incoming.removeValue(forKey: stream) else { return nil }
        bufferedBytes -= taken.request.body.count
        return taken.request
    }

    mutating func forget(stream: Int32) {
        _ = take(stream: stream)
    }

    // MARK: Streams

    mutating func closed(stream: Int32, code: UInt32) {
        openStreams -= 1
        if keepsContent || !outgoing.isEmpty {
            forget(stream: stream)
            outgoing[stream] = nil
            if !discarding.isEmpty { discarding[stream] = nil }
        }
        guard code != 0 else { return }
        actions.append(.closed(stream: stream, code: code))
    }

    /// Fills a DATA frame. Returns how many bytes it got, and whether they are the last.
    mutating func fill(stream: Int32, _ buffer: UnsafeMutableRawBufferPointer) -> (count: Int, isLast: Bool) {
        guard let index = outgoing.index(forKey: stream) else { return (0, true) }
        let (bytes, offset) = (outgoing.values[index].bytes, outgoing.values[index].offset)
        let count = min(buffer.count, bytes.count - offset)
        bytes.withUnsafeBytes {
            buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[offset..<(offset + count)]))
        }
        outgoing.values[index].offset = offset + count
        guard offset + count == bytes.count else { return (count, false) }
        outgoing.remove(at: index)
        return (count, true)
    }
}
