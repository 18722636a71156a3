// Bodies and answers in pieces, for hooks that asked for them by `streamLimit`.
extension HTTP2ServerConnection {
    /// What there is of a streamed body: empty when nothing has come since, `nil` when its stream is gone or it was read.
    ///
    /// The peer gets credit for as many bytes more.
    package func takeBody(stream: Int32) -> (bytes: [UInt8], isLast: Bool)? {
        guard state == .open, let taken = session.record.pointee.takeBody(stream: stream) else { return nil }
        session.credit(stream: stream, taken.held)
        pump()
        return (taken.bytes, taken.isLast)
    }

    /// Nobody wants the rest of a streamed body: what still comes of it is dropped.
    package func dropBody(stream: Int32) {
        guard let dropped = session.record.pointee.drop(stream: stream) else { return }
        session.credit(stream: stream, dropped)
        pump()
    }

    /// Somebody waits for more of a streamed body: from now on the peer's time runs, less what it took before.
    package func beginWaiting(stream: Int32, waited: Duration) {
        session.record.pointee.setWaiting(stream: stream, since: .now - waited)
    }

    package func endWaiting(stream: Int32) {
        session.record.pointee.setWaiting(stream: stream, since: nil)
    }

    /// Begins an answer whose body follows by ``append(stream:_:isLast:)``.
    package func beginAnswer(stream: Int32, head: borrowing HTTP2HeaderBlock) {
        guard state == .open else { return }
        session.respond(stream: stream, head: head, body: [], isOpen: true)
        pump()
    }

    /// Adds to an answer. Returns how many bytes of it wait for the peer; `nil` when its stream is gone.
    package func append(stream: Int32, _ bytes: [UInt8], isLast: Bool) -> Int? {
        guard state == .open, session.append(stream: stream, bytes, isLast: isLast) != nil else { return nil }
        pump()
        return session.record.pointee.outgoing[stream]?.waitingBytes ?? 0
    }

    /// `answerHasRoom` is called when most of what waits has gone.
    package func askForRoom(stream: Int32) {
        session.record.pointee.outgoing[stream]?.wantsRoom = true
    }
}

extension ServerRecord {
    fileprivate mutating func setWaiting(stream: Int32, since: ContinuousClock.Instant?) {
        guard let index = incoming.index(forKey: stream) else { return }
        incoming.values[index].since = since
    }
}
