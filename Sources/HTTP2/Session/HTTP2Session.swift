/// The client's side of one HTTP/2 connection: bytes in, actions out; requests in, bytes out. Not thread-safe, no I/O.
///
/// Frames, stream states, windows and the encoding of requests are ours; the peer's header blocks are decoded by nghttp2.
/// What breaks a rule of RFC 9113 ends its stream or the session, with the code that the RFC names. Streams are known by
/// their slot, a small number that the owner chooses and may use again once the stream is closed. The peer's limit of
/// streams is the owner's to keep.
struct HTTP2Session: ~Copyable {
    /// A response whose fields are longer than this is reset.
    static let mostFieldBytes = 64 * 1024
    /// A header block that is longer than this, encoded, ends the connection: until then it is decoded, whatever becomes of
    /// its stream, so that the peer's table stays ours.
    static let mostBlockBytes = 4 * mostFieldBytes
    static let mostContinuations = 64
    /// Answers to a peer that does not read: from here on it is a flood.
    static let mostOutputBytes = 1 << 20
    /// The window that we open for each response.
    static let streamWindow = 1 << 20

    // What the other files of this type work on.
    var output = WriteBuffer(capacity: 4 * HTTP2Frame.smallestLimit)
    var encoder = RequestEncoder()
    var inflater: ResponseInflater
    var streams: [ClientStream] = []  // by slot
    var numbers = StreamNumbers()
    var nextNumber: Int32
    /// Streams with a body that did not fit into a window at once, the first first.
    var sending: [(slot: Int, number: Int32)] = []
    var unsentBytes = 0
    var connectionSendWindow = HTTP2Frame.initialWindow
    var connectionReceiveWindow = HTTP2Frame.initialWindow
    var peerStreamWindow = HTTP2Frame.initialWindow
    var peerFrameLimit = HTTP2Frame.smallestLimit
    var lastGoAway = Int32.max
    /// A frame that has come in part.
    var partial: [UInt8] = []
    /// A header block whose CONTINUATION is awaited, and whose it is.
    var block: [UInt8] = []
    var blockOwner: (stream: Int32, endsStream: Bool)?
    var continuations = 0
    var hasPeerSettings = false
    let wantedFields: [[UInt8]]?
    let wantedErrorFields: [[UInt8]]?
    let maxBodyBytes: Int

    private(set) var actions: [PeerAction] = []
    private var spareActions: [PeerAction] = []
    /// The peer's words in its last GOAWAY, cut short.
    var goAwayText = ""
    var goAwayCode: UInt32 = 0
    /// How many streams the peer allows at once.
    var remoteStreamLimit = Int(UInt32.max)
    /// The peer broke the protocol: a GOAWAY says so, and nothing is read any more.
    private(set) var isOver = false
    /// By which frame, and what rule.
    private(set) var violation: HTTP2Violation?
    /// Of the frame that is being looked at.
    var frameType: UInt8?
    var frameStream: Int32 = 0

    /// Opens the session, and writes the preface and the first SETTINGS.
    ///
    /// - Parameters:
    ///   - wantedFields: The response fields to keep, in lower case; `nil` keeps all.
    ///   - wantedErrorFields: The same where the status is not 200; `nil`: as `wantedFields`.
    ///   - maxBodyBytes: What is kept of a response's body.
    ///   - firstNumber: The first stream's, odd.
    /// - Throws: ``HTTP2Error/library(code:)`` when nghttp2 is out of memory.
    init(
        wantedFields: [String]?,
        wantedErrorFields: [String]? = nil,
        maxBodyBytes: Int,
        firstNumber: Int32 = 1
    ) throws(HTTP2Error) {
        inflater = try ResponseInflater()
        self.wantedFields = wantedFields?.map { Array($0.utf8) }
        self.wantedErrorFields = (wantedErrorFields ?? wantedFields)?.map { Array($0.utf8) }
        self.maxBodyBytes = maxBodyBytes
        nextNumber = firstNumber
        var preface = HTTP2Frame.preface
        preface.withUTF8 { output.append(UnsafeRawBufferPointer($0)) }
        // No pushes; the window of a stream; and the priority tree of old is spared to both sides (RFC 9218, 2.1).
        let settings: [(id: UInt16, value: UInt32)] = [(2, 0), (4, UInt32(Self.streamWindow)), (9, 1)]
        writeFrame(HTTP2Frame.settings, payloadBytes: 6 * settings.count) { place in
            for (number, setting) in settings.enumerated() {
                place[6 * number] = UInt8(setting.id >> 8)
                place[6 * number + 1] = UInt8(setting.id & 0xFF)
                HTTP2Frame.write(setting.value, to: place + 6 * number + 2)
            }
        }
    }

    // MARK: - Requests

    /// Opens a stream, and writes its request as far as the windows let it.
    ///
    /// - Parameters:
    ///   - template: The constant fields.
    ///   - values: The varying ones, copied.
    ///   - body: Held while a part of it is unsent.
    ///   - slot: Free.
    /// - Returns: The stream's number.
    /// - Throws: ``HTTP2Error/notProcessed`` when the stream numbers of the connection are used up.
    mutating func submit(
        _ template: HTTP2RequestTemplate,
        _ values: borrowing HTTP2FieldValues,
        body: HTTP2Body?,
        slot: Int
    ) throws(HTTP2Error) -> Int32 {
        guard nextNumber > 0 else { throw .notProcessed }
        let number = nextNumber
        nextNumber = number < Int32.max - 1 ? number + 2 : 0
        let bodyBytes = body?.count ?? 0
        writeHeaders(template, values, stream: number, endsStream: bodyBytes == 0)
        numbers.insert(number, slot: slot)
        while streams.count <= slot { streams.append(ClientStream()) }
        streams[slot].number = number
        streams[slot].phase = .awaiting
        streams[slot].sendWindow = peerStreamWindow
        streams[slot].receiveWindow = Self.streamWindow
        streams[slot].receivedBytes = 0
        streams[slot].promisedBytes = -1
        streams[slot].isHead = template.isHead
        guard let body, bodyBytes > 0 else { return number }
        if sending.isEmpty, bodyBytes <= min(peerStreamWindow, connectionSendWindow, peerFrameLimit) {
            writeData(UnsafeRawBufferPointer(rebasing: body.bytes[...]), stream: number, endsStream: true)
            streams[slot].sendWindow -= bodyBytes
        } else {
            streams[slot].body = body
            streams[slot].sentBytes = 0
            sending.append((slot, number))
            unsentBytes += bodyBytes
            sendBodies()
        }
        return number
    }

    /// Resets an open stream; it is closed with the same code.
    mutating func submitReset(stream: Int32, code: UInt32) {
        guard let slot = numbers[stream] else { return }
        writeFrame(HTTP2Frame.reset, stream: stream, payloadBytes: 4) { HTTP2Frame.write(code, to: $0) }
        close(slot, code: code)
    }

    mutating func submitPing() {
        writeFrame(HTTP2Frame.ping, payloadBytes: 8) { $0.update(repeating: 0, count: 8) }
    }

    /// Says goodbye: no error, no streams of the peer's were processed.
    mutating func submitGoAway() { writeGoAway(code: HTTP2ErrorCode.noError) }

    /// How many bytes of bodies the peer's connection window takes now, beyond those that wait for it.
    var roomForBodies: Int { connectionSendWindow - unsentBytes }

    // MARK: - What the owner takes

    mutating func takeActions() -> [PeerAction] {
        let taken = actions
        actions = spareActions
        spareActions = []
        return taken
    }

    /// Gives the array of a turn back, so that a busy connection does not allocate one a turn.
    mutating func recycle(_ taken: consuming [PeerAction]) {
        taken.removeAll(keepingCapacity: true)
        spareActions = taken
    }

    /// Whether a part of a request's body has not been written: half a body is no request.
    func hasUnsentBody(_ slot: Int) -> Bool { streams[slot].body != nil }

    /// What came of a response so far.
    func response(of slot: Int) -> HTTP2ResponseRecord { streams[slot].response }

    /// Frees a closed stream's slot and hands out its response.
    mutating func takeResponse(slot: Int) -> HTTP2ResponseRecord {
        streams[slot].phase = .free
        var response = HTTP2ResponseRecord()
        swap(&response, &streams[slot].response)
        return response
    }

    // MARK: - Ends

    mutating func record(_ action: PeerAction) { actions.append(action) }

    /// Forgets an open stream; its response stays until it is taken.
    mutating func close(_ slot: Int, code: UInt32) {
        numbers.remove(streams[slot].number)
        streams[slot].number = 0
        if streams[slot].body != nil {
            unsentBytes -= streams[slot].unsentBytes
            streams[slot].body = nil
        }
        record(.closedStream(slot: slot, errorCode: code))
    }

    /// The peer broke a rule that concerns the connection (RFC 9113, 5.4.1).
    ///
    /// What it had said before on the frame's own stream is not believed any more; of the other streams it is.
    mutating func fail(_ code: UInt32, _ rule: HTTP2Rule) {
        guard !isOver else { return }
        writeGoAway(code: code)
        isOver = true
        violation = HTTP2Violation(frameType: frameType, stream: frameStream, rule: rule)
        if frameStream > 0, let slot = numbers[frameStream] { streams[slot].response = HTTP2ResponseRecord() }
    }

    /// The peer broke a rule that concerns one stream (RFC 9113, 5.4.2): the stream has no answer, whatever came of it.
    mutating func fail(stream: Int32, _ code: UInt32, _ rule: HTTP2Rule) {
        guard let slot = numbers[stream] else { return }
        streams[slot].response = HTTP2ResponseRecord()
        streams[slot].response.violation = HTTP2Violation(frameType: frameType, stream: stream, rule: rule)
        submitReset(stream: stream, code: code)
    }
}
