internal import EventLoop

// What an owner can do to its connection, from a hook at once or from elsewhere by `await`.
extension HTTP2ServerConnection {
    /// Streams that the peer opened and that have not ended.
    package var openStreams: Int { session.record.pointee.openStreams }

    package var isClosed: Bool { state != .open }

    /// The highest stream that was handed to us.
    package var lastStream: Int32 { session.lastStream }

    /// Answers a stream. Ignored when the stream has ended; a stream is answered once.
    ///
    /// - Parameters:
    ///   - stream: As the hook named it.
    ///   - head: `:status` first, then the fields.
    ///   - body: Empty: the head ends the stream.
    package func respond(
        stream: Int32,
        head: borrowing HTTP2HeaderBlock,
        body: [UInt8] = []
    ) {
        guard state == .open else { return }
        session.respond(stream: stream, head: head, body: body)
        pump()
    }

    /// Resets a stream with any code of RFC 9113, 7.
    package func reset(stream: Int32, code: UInt32) {
        guard state == .open else { return }
        session.record.pointee.forget(stream: stream)
        session.reset(stream: stream, code: code)
        pump()
    }

    /// Sends GOAWAY. Open streams above `lastStream` are closed and never answered; those below go on, and with the last
    /// of them the connection ends.
    ///
    /// - Parameters:
    ///   - lastStream: 0 or odd. Not raised above one that was sent before.
    ///   - code: Of RFC 9113, 7.
    ///   - debug: Any bytes, or none.
    package func submitGoAway(lastStream: Int32, code: UInt32 = 0, debug: [UInt8] = []) {
        guard state == .open else { return }
        session.goAway(lastStream: lastStream, code: code, debug: debug)
        pump()
    }

    /// Sends SETTINGS with a new limit. Until the peer acknowledges it, streams above it are refused one by one; from
    /// then on they end the connection.
    package func submitMaxConcurrentStreams(_ limit: Int) {
        guard state == .open else { return }
        session.submitMaxConcurrentStreams(limit)
        pump()
    }

    /// Puts bytes between two frames, as they are: for frames that no well-behaved server sends.
    package func writeRaw(_ frames: [UInt8]) {
        guard state == .open, silence == .off else { return }
        pump()
        frames.withUnsafeBytes { write($0) }
    }

    package func setSilence(_ silence: Silence) {
        self.silence = silence
        pump()
    }

    /// Stops reading from the socket: the peer's sending blocks once the buffers between are full.
    package func pauseReading() {
        transport.pauseReading()
    }

    package func resumeReading() {
        transport.resumeReading()
    }

    /// Calls `body` with the connection and its hooks: the way back to the loop for who was called by a hook and went on
    /// elsewhere.
    package func withHooks(
        _ body: @Sendable (_ hooks: any HTTP2ServerHooks, _ connection: isolated HTTP2ServerConnection) -> Void
    ) {
        body(hooks, self)
    }

    /// Closes at once; what was not yet written is lost.
    package func close() {
        end(.closedHere)
    }

    /// Ends in good order: a GOAWAY that still lets in what is on its way, a round trip later the one that counts, then
    /// the end with the last stream (RFC 9113, 6.8). The caller bounds the time by `close()`.
    package func startDraining() {
        guard state == .open, drain == .no else { return }
        guard session.record.pointee.hasPeerSettings else { return end(.closedHere) }
        drain = .noticed
        session.shutdownNotice()
        session.ping()
        // Were the acknowledgement to stay away, the second GOAWAY follows all the same.
        loop.schedule(at: .now + .seconds(1)) { [weak self] in
            self?.assumeIsolated { connection in
                if connection.drain == .noticed { connection.finalGoAway() }
                connection.pump()
            }
        }
        pump()
    }

    func finalGoAway() {
        drain = .final
        guard state == .open else { return }
        session.goAway(lastStream: session.lastStream, code: 0, debug: [])
    }
}
