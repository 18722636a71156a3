/// A lean listener's end of one connection, without the socket: bytes in, frames out, and what has to happen later.
///
/// HTTP/2 without a library: it steps over what it does not need to read, so that a request costs a few dozen instructions
/// beside TLS and the kernel. It keeps to RFC 9113 in what a peer can see: flow control both ways, SETTINGS and PING,
/// stream limits, GOAWAY and resets.
struct LeanSession: ~Copyable {
    struct Settings: Sendable {
        var initialStreams = 1
        var fullStreams = 1000
        var lowersOnRejection = true
        var windowBytes = 65_535
        var streamWindowBytes = 65_535
    }

    /// What the owner has to see to, after ``receive(_:)`` and ``settle(_:of:)``.
    enum Wish {
        /// Calls ``settle(_:of:)`` when this time has passed.
        case settle(stream: Int32, fault: ScriptedFault, after: Duration)
        /// Calls ``unpin(_:)`` when this time has passed.
        case unpin(number: Int, after: Duration)
        /// Closes at once, when what was gathered is written.
        case close
        /// Resets the connection (TCP RST).
        case reset
    }

    enum State {
        case open
        /// GOAWAY is out. To: over, with the last stream.
        case draining
        /// Nothing more is said; what still comes is dropped.
        case over
    }

    let sink: LeanSink
    var output = LeanOutput()
    var wishes: [Wish] = []
    var state = State.open
    /// Nothing is said, though everything is taken.
    var isDeaf = false
    /// No request is answered, but all else is.
    var isMute = false

    // Streams
    var streams: OpenStreams
    var newestStream: Int32 = 0
    /// Streams above are not answered: a GOAWAY says so.
    var lastProcessed = Int32.max
    var limit: StreamLimit
    /// Limits that were announced and not yet acknowledged; nil: SETTINGS that did not change it.
    var pendingLimits: [Int?] = []
    var acknowledgedLimit = Int.max
    var pins = 0
    var streamsToGoAway: (rule: Int, generation: Int, count: Int)?
    var hasAnswered = false

    // Flow control
    private let windowBytes: Int
    private var unacknowledgedBytes = 0
    var flow = LeanFlow()

    // Reading
    private var prefaceLeft = LeanSession.preface.count
    private var stash: [UInt8] = []
    private var frame = LeanFrame.none
    private var skipping = 0
    private var isFirstFrame = true
    /// A header block that CONTINUATION frames go on with.
    private var block: (stream: Int32, endsStream: Bool, bytes: [UInt8])?
    private var skimmer: FieldSkimmer?

    // Sums since the owner took them
    var tally = LeanTally()

    static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

    init(_ settings: Settings, sink: LeanSink) {
        self.sink = sink
        windowBytes = settings.windowBytes
        limit = StreamLimit(
            initial: settings.initialStreams,
            full: settings.fullStreams,
            lowersOnRejection: settings.lowersOnRejection
        )
        streams = OpenStreams(keepsFound: sink.readsFields)
        if sink.readsFields { skimmer = FieldSkimmer() }
        output.settings([
            1: 4096, 3: settings.initialStreams, 4: settings.streamWindowBytes, 5: LeanFrame.mostPayloadBytes, 6: 8000,
        ])
        pendingLimits.append(settings.initialStreams)
    }

    // MARK: - Reading

    /// Takes bytes as they come off the wire.
    mutating func receive(_ bytes: UnsafeRawBufferPointer) {
        guard state != .over, let base = bytes.baseAddress else { return }
        var position = 0
        let count = bytes.count
        while position < count, state != .over {
            if skipping > 0 {
                let step = min(skipping, count - position)
                position += step
                skipping -= step
                if skipping == 0 { payloadSkipped() }
            } else if prefaceLeft > 0 {
                guard bytes[position] == Self.preface[Self.preface.count - prefaceLeft] else {
                    return fail(LeanErrorCode.protocolError)
                }
                position += 1
                prefaceLeft -= 1
            } else if !stash.isEmpty || count - position < LeanFrame.headBytes {
                position += gather(UnsafeRawBufferPointer(rebasing: bytes[position...]))
            } else {
                let head = LeanFrame(base + position)
                if isSkipped(head) {
                    position += LeanFrame.headBytes
                    begin(head)
                } else if count - position < LeanFrame.headBytes + head.length {
                    position += gather(UnsafeRawBufferPointer(rebasing: bytes[position...]))
                } else {
                    let start = position + LeanFrame.headBytes
                    position = start + head.length
                    whole(head, UnsafeRawBufferPointer(rebasing: bytes[start..<position]))
                }
            }
        }
        if unacknowledgedBytes * 2 >= windowBytes, !isDeaf {
            output.windowUpdate(stream: 0, by: unacknowledgedBytes)
            unacknowledgedBytes = 0
        }
        if isDeaf { output.removeAll() }
    }

    /// Keeps the beginning of a frame whose rest is still to come. Returns how many bytes it took.
    private mutating func gather(_ bytes: UnsafeRawBufferPointer) -> Int {
        var taken = 0
        while true {
            var wanted = LeanFrame.headBytes
            if stash.count >= LeanFrame.headBytes {
                let head = stash.withUnsafeBytes { $0.baseAddress.map { LeanFrame($0) } } ?? .none
                if isSkipped(head) {
                    stash.removeAll(keepingCapacity: true)
                    begin(head)
                    return taken
                }
                if head.length > LeanFrame.mostPayloadBytes {
                    fail(LeanErrorCode.frameSize)
                    return taken
                }
                wanted += head.length
                if stash.count == wanted {
                    gathered(head)
                    return taken
                }
            }
            let step = min(wanted - stash.count, bytes.count - taken)
            if step == 0 { return taken }
            stash.append(contentsOf: bytes[taken..<(taken + step)])
            taken += step
        }
    }

    private mutating func gathered(_ head: LeanFrame) {
        let frame = stash
        stash.removeAll(keepingCapacity: true)
        frame.withUnsafeBytes { whole(head, UnsafeRawBufferPointer(rebasing: $0[LeanFrame.headBytes...])) }
    }

    /// Whether nobody looks at the payload of a frame.
    private func isSkipped(_ head: LeanFrame) -> Bool {
        head.kind == LeanFrame.data
            || skimmer == nil && (head.kind == LeanFrame.headers || head.kind == LeanFrame.continuation)
    }

    /// The head of a frame whose payload is stepped over.
    private mutating func begin(_ head: LeanFrame) {
        guard admit(head) else { return }
        frame = head
        skipping = head.length
        if head.kind == LeanFrame.data { unacknowledgedBytes += head.length }
        if skipping == 0 { payloadSkipped() }
    }

    private mutating func payloadSkipped() {
        if frame.kind == LeanFrame.data { return dataEnded() }
        headersArrived(frame, nil)
    }

    private mutating func dataEnded() {
        let stream = frame.stream
        if frame.has(LeanFrame.endStream) {
            if streams[stream] == .receiving { requestComplete(stream) }
        } else if frame.length > 0, streams[stream] == .receiving {
            // Bodies of one frame need no credit of their own; the rest of a longer one gets it at once.
            output.windowUpdate(stream: stream, by: frame.length)
        }
    }

    private mutating func whole(_ head: LeanFrame, _ payload: UnsafeRawBufferPointer) {
        guard admit(head) else { return }
        switch head.kind {
        case LeanFrame.headers, LeanFrame.continuation: headersArrived(head, payload)
        case LeanFrame.settings: settingsArrived(head, payload)
        case LeanFrame.ping:
            guard payload.count == 8 else { return fail(LeanErrorCode.frameSize) }
            if !head.has(LeanFrame.acknowledgement) {
                output.frame(LeanFrame.ping, flags: LeanFrame.acknowledgement, Array(payload))
            }
        case LeanFrame.windowUpdate: windowUpdateArrived(head, payload)
        case LeanFrame.resetStream: peerReset(head.stream)
        case LeanFrame.goAway: drain()
        case LeanFrame.pushPromise: fail(LeanErrorCode.protocolError)
        default: break  // PRIORITY, and frames that nobody knows
        }
    }

    /// What holds for every frame: its size, SETTINGS first, header blocks in one piece.
    private mutating func admit(_ head: LeanFrame) -> Bool {
        guard head.length <= LeanFrame.mostPayloadBytes else {
            fail(LeanErrorCode.frameSize)
            return false
        }
        let isSettings = head.kind == LeanFrame.settings
        let fits = block.map { head.kind == LeanFrame.continuation && head.stream == $0.stream }
        guard fits ?? (head.kind != LeanFrame.continuation), !isFirstFrame || isSettings else {
            fail(LeanErrorCode.protocolError)
            return false
        }
        isFirstFrame = false
        return true
    }

    // MARK: - Heads

    /// A HEADERS or CONTINUATION frame; its payload is nil when it was stepped over.
    private mutating func headersArrived(_ head: LeanFrame, _ payload: UnsafeRawBufferPointer?) {
        if payload == nil, head.has(LeanFrame.endHeaders), block == nil {
            return headComplete(head.stream, endsStream: head.has(LeanFrame.endStream), nil)
        }
        var current = block ?? (head.stream, head.has(LeanFrame.endStream), [])
        if let payload {
            guard let content = head.kind == LeanFrame.headers ? head.content(of: payload) : payload else {
                return fail(LeanErrorCode.protocolError)
            }
            if current.bytes.isEmpty, head.has(LeanFrame.endHeaders) {
                block = nil
                return skim(current.stream, current.endsStream, content)
            }
            current.bytes.append(contentsOf: content)
            guard current.bytes.count <= 64 << 10 else { return fail(LeanErrorCode.protocolError) }
        }
        guard head.has(LeanFrame.endHeaders) else {
            block = current
            return
        }
        block = nil
        guard payload != nil else { return headComplete(current.stream, endsStream: current.endsStream, nil) }
        current.bytes.withUnsafeBytes { skim(current.stream, current.endsStream, $0) }
    }

    private mutating func skim(_ stream: Int32, _ endsStream: Bool, _ block: UnsafeRawBufferPointer) {
        guard let found = skimmer?.read(block) else { return fail(LeanErrorCode.compression) }
        headComplete(stream, endsStream: endsStream, found)
    }

    private mutating func headComplete(_ stream: Int32, endsStream: Bool, _ found: FieldSkimmer.Found?) {
        guard stream & 1 == 1 else { return fail(LeanErrorCode.protocolError) }
        if stream <= newestStream {
            // Trailers; of a stream that has ended they were on their way when it did.
            if endsStream, streams[stream] == .receiving { requestComplete(stream) }
            return
        }
        newestStream = stream
        guard stream <= lastProcessed else {
            tally.arrived += 1
            tally.unanswered.goAway += 1
            return
        }
        guard streams.count < max(acknowledgedLimit, limit.announced) else {
            sink.streamLimitBroken()
            return fail(LeanErrorCode.refusedStream, debug: "Maximum active streams violated for this endpoint.")
        }
        if streams.count >= limit.announced {
            if !limit.wasAnswered { sink.streamLimitBroken() }
            return output.reset(stream: stream, code: LeanErrorCode.refusedStream)
        }
        guard streams.hasRoom(for: stream) else { return fail(LeanErrorCode.enhanceYourCalm) }
        streams.open(stream, .receiving, found)
        if endsStream { requestComplete(stream) }
    }

    private mutating func peerReset(_ stream: Int32) {
        switch streams[stream] {
        case .none: return
        case .receiving: break
        case .waiting: tally.unanswered.cancelled += 1
        case .answering: flow.drop(stream)
        }
        end(stream)
    }

    // MARK: - Ending

    /// A stream ends, in whatever way.
    mutating func end(_ stream: Int32) {
        guard streams[stream] != .none else { return }
        streams.close(stream)
        if state == .draining, streams.count == 0 { state = .over }
    }

    mutating func drain() {
        guard state == .open else { return }
        state = streams.count == 0 ? .over : .draining
    }

    /// The connection is gone: what waited is not answered any more.
    mutating func connectionClosed() {
        state = .over
        for stream in streams.all where streams[stream] == .waiting { tally.unanswered.cancelled += 1 }
        streams = OpenStreams(keepsFound: skimmer != nil)
    }

    /// The peer has broken the protocol.
    mutating func fail(_ code: UInt32, debug: String = "") {
        output.goAway(lastStream: newestStream, code: code, debug: Array(debug.utf8))
        state = .over
    }
}

extension LeanFrame {
    /// In the place of a frame before the first.
    fileprivate static var none: LeanFrame { LeanFrame(length: 0, kind: 0xFF, flags: 0, stream: 0) }

    private init(length: Int, kind: UInt8, flags: UInt8, stream: Int32) {
        (self.length, self.kind, self.flags, self.stream) = (length, kind, flags, stream)
    }
}
