internal import CNghttp2

/// What nghttp2's callbacks write down while it parses, and what it reads from while it sends.
///
/// Lives in memory of its own that the callbacks reach by a pointer: no reference counting on the way.
struct ServerRecord {
    /// What the peer did, or what became of a stream. Small and without references: thousands a turn cost nothing.
    enum Action {
        case request(stream: Int32)
        /// A head is complete: asked for when bodies may be streamed.
        case head(stream: Int32)
        /// A streamed body has grown or ended.
        case body(stream: Int32)
        /// A streamed answer has room again.
        case drained(stream: Int32)
        /// A request that is too large, and the status that says so. The rest of it is dropped.
        case oversize(stream: Int32, status: Int, excess: HTTP2BodyExcess?)
        /// The stream ended before it was answered whole.
        case closed(stream: Int32, code: UInt32)
        /// The peer opened more streams than we allow; `acknowledged`: it had been told.
        case refused(stream: Int32, acknowledged: Bool)
        case pingAcknowledged
    }

    /// A request that is being read, or was read and is not yet handed over.
    struct Incoming {
        enum Mode: Equatable {
            case undecided  // The owner has not said yet. To: whole, streamed.
            case whole
            case streamed(limit: Int)
        }

        /// The body is what was not handed over yet.
        var request = HTTP2ServerRequest()
        var mode: Mode
        /// When the request began; for a streamed one, when its reader began to wait, less what it had waited before.
        var since: ContinuousClock.Instant?
        var receivedBytes = 0
        /// Bytes whose flow-control credit the peer has not got back.
        var heldBytes = 0
        var isComplete = false
    }

    struct Outgoing {
        var bytes: [UInt8]
        var offset = 0
        /// More may be appended.
        var isOpen = false
        var wantsRoom = false

        var waitingBytes: Int { bytes.count - offset }
    }

    /// What is to be done about a piece of a body.
    enum Reception {
        case credit
        /// The peer gets no more credit for its stream until the piece is handed over.
        case hold
        case reset(code: UInt32)
    }

    /// The rest of a request that was refused: let in and dropped, so that a client reads the answer before it is cut off.
    /// (RST_STREAM with NO_ERROR, RFC 9113, 8.1, would be the rule's way; curl 7.88 then loses the answer.)
    struct Discarding {
        var bytesLeft: Int
        /// When the answer was given: from then on the peer's time to come to an end runs.
        var since: ContinuousClock.Instant?
    }

    let offersStreaming: Bool
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
        offersStreaming = configuration.offersStreaming
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
        if currentIsTrailer {
            if endsStream { endRequest(stream: stream) }
            return
        }
        let request = current
        current = HTTP2ServerRequest()
        guard !currentIsOversize else {
            actions.append(.oversize(stream: stream, status: 431, excess: nil))
            if !endsStream { discard(stream: stream) }
            return
        }
        incoming[stream] = Incoming(request: request, mode: offersStreaming ? .undecided : .whole, since: now)
        if offersStreaming { actions.append(.head(stream: stream)) }
        if endsStream { endRequest(stream: stream) }
    }

    // MARK: Bodies

    mutating func addBody(stream: Int32, _ bytes: UnsafeBufferPointer<UInt8>) -> Reception {
        guard let index = incoming.index(forKey: stream) else { return discard(stream: stream, bytes.count) }
        let mode = incoming.values[index].mode
        let received = incoming.values[index].receivedBytes + bytes.count
        guard received <= limit(of: mode) else {
            refuse(stream: stream, received: received, limit: limit(of: mode))
            return .credit
        }
        guard bufferedBytes + bytes.count <= maxBufferedBytes else {
            forget(stream: stream)
            return .reset(code: NGHTTP2_ENHANCE_YOUR_CALM.rawValue)
        }
        bufferedBytes += bytes.count
        incoming.values[index].receivedBytes = received
        incoming.values[index].request.body.append(contentsOf: bytes)
        if mode == .whole { return .credit }
        incoming.values[index].heldBytes += bytes.count
        if mode != .undecided { actions.append(.body(stream: stream)) }
        return .hold
    }

    /// Undecided, at most a window of bytes comes.
    private func limit(of mode: Incoming.Mode) -> Int {
        switch mode {
        case .undecided: .max
        case .whole: maxBodyBytes
        case .streamed(let limit): limit
        }
    }

    /// Drops a request and what still comes of it. Returns how many bytes the peer gets credit for.
    mutating func drop(stream: Int32) -> Int? {
        guard let request = incoming[stream] else { return nil }
        forget(stream: stream)
        if !request.isComplete {
            discard(stream: stream)
            discarding[stream]?.since = .now
        }
        return request.heldBytes
    }

    private mutating func refuse(stream: Int32, received: Int, limit: Int) {
        let declared = incoming[stream]?.request.head.contentLength ?? 0
        let isComplete = incoming[stream]?.isComplete ?? false
        forget(stream: stream)
        if !isComplete { discard(stream: stream) }
        let excess = HTTP2BodyExcess(size: max(received, declared), limit: limit)
        actions.append(.oversize(stream: stream, status: 413, excess: excess))
    }

    /// The owner's answer to `.head`. Returns how many bytes the peer gets credit for.
    mutating func decide(stream: Int32, streamLimit: Int?) -> Int {
        guard let index = incoming.index(forKey: stream) else { return 0 }
        let received = incoming.values[index].receivedBytes
        let held = incoming.values[index].heldBytes
        if let streamLimit {
            incoming.values[index].mode = .streamed(limit: streamLimit)
            incoming.values[index].since = nil
            if received > streamLimit { refuse(stream: stream, received: received, limit: streamLimit) }
            return 0
        }
        incoming.values[index].mode = .whole
        incoming.values[index].heldBytes = 0
        if received > maxBodyBytes { refuse(stream: stream, received: received, limit: maxBodyBytes) }
        return held
    }

    func isStreamed(stream: Int32) -> Bool {
        guard case .streamed = incoming[stream]?.mode else { return false }
        return true
    }

    /// Hands over what there is of a streamed body; empty when nothing is there yet. `nil` when the stream is none.
    mutating func takeBody(stream: Int32) -> (bytes: [UInt8], isLast: Bool, held: Int)? {
        guard let index = incoming.index(forKey: stream) else { return nil }
        let bytes = incoming.values[index].request.body
        let held = incoming.values[index].heldBytes
        let isLast = incoming.values[index].isComplete
        incoming.values[index].request.body = []
        incoming.values[index].heldBytes = 0
        bufferedBytes -= bytes.count
        if isLast { forget(stream: stream) }
        return (bytes, isLast, held)
    }

    /// Drops what a refused request still brings, up to as much as would have been kept.
    mutating func discard(stream: Int32) {
        discarding[stream] = Discarding(bytesLeft: maxBufferedBytes)
    }

    private mutating func discard(stream: Int32, _ bytes: Int) -> Reception {
        guard let index = discarding.index(forKey: stream) else { return .credit }
        discarding.values[index].bytesLeft -= bytes
        return discarding.values[index].bytesLeft < 0 ? .reset(code: NGHTTP2_NO_ERROR.rawValue) : .credit
    }

    mutating func endRequest(stream: Int32) {
        guard let index = incoming.index(forKey: stream) else { return }
        incoming.values[index].isComplete = true
        if case .streamed = incoming.values[index].mode {
            actions.append(.body(stream: stream))
        } else {
            actions.append(.request(stream: stream))
        }
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
        forget(stream: stream)
        if !outgoing.isEmpty { outgoing[stream] = nil }
        if !discarding.isEmpty { discarding[stream] = nil }
        guard code != 0 else { return }
        actions.append(.closed(stream: stream, code: code))
    }

    /// Fills a DATA frame. Returns how many bytes it got, and whether they are the last; `nil` when none are there yet.
    mutating func fill(stream: Int32, _ buffer: UnsafeMutableRawBufferPointer) -> (count: Int, isLast: Bool)? {
        guard let index = outgoing.index(forKey: stream) else { return (0, true) }
        let (bytes, offset) = (outgoing.values[index].bytes, outgoing.values[index].offset)
        let count = min(buffer.count, bytes.count - offset)
        bytes.withUnsafeBytes {
            buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[offset..<(offset + count)]))
        }
        outgoing.values[index].offset = offset + count
        guard outgoing.values[index].isOpen else {
            guard offset + count == bytes.count else { return (count, false) }
            outgoing.remove(at: index)
            return (count, true)
        }
        compact(index, stream: stream)
        return count > 0 ? (count, false) : nil
    }

    /// For an answer that is still growing: gives memory back, and tells when there is room.
    private mutating func compact(_ index: Dictionary<Int32, Outgoing>.Index, stream: Int32) {
        let (offset, waiting) = (outgoing.values[index].offset, outgoing.values[index].waitingBytes)
        if waiting == 0 {
            outgoing.values[index].bytes = []
            outgoing.values[index].offset = 0
        } else if offset > 1 << 20 {
            outgoing.values[index].bytes.removeFirst(offset)
            outgoing.values[index].offset = 0
        }
        if waiting < Self.roomBytes, outgoing.values[index].wantsRoom {
            outgoing.values[index].wantsRoom = false
            actions.append(.drained(stream: stream))
        }
    }

    /// Below this a streamed answer has room again.
    private static let roomBytes = 64 << 10
}
