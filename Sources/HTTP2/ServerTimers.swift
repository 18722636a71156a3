package import EventLoop

/// One deadline that is moved often and passes rarely: moving it later costs no timer.
///
/// Belongs to the loop's thread. The timer fires at the time that was set first, sees the later one and waits on.
package final class ServerDeadline {
    private let loop: EventLoop
    private var deadline: ContinuousClock.Instant?
    private var timer: (id: TimerID, at: ContinuousClock.Instant)?
    package var handler: () -> Void = {}

    package init(loop: EventLoop) {
        self.loop = loop
    }

    package func set(_ instant: ContinuousClock.Instant) {
        deadline = instant
        if let timer {
            if timer.at <= instant { return }
            loop.cancel(timer.id)
        }
        let id = loop.schedule(at: instant) { [weak self] in self?.fire() }
        timer = (id, instant)
    }

    package func cancel() {
        deadline = nil
        if let timer { loop.cancel(timer.id) }
        timer = nil
    }

    private func fire() {
        timer = nil
        guard let deadline else { return }
        if deadline > .now { return set(deadline) }
        self.deadline = nil
        handler()
    }
}

/// Holds bytes back for a time before they go to the transport, in order: a stand-in for distance.
final class ServerDelayLine {
    private let delay: Duration
    private let loop: EventLoop
    private let transport: Transport
    private var pieces: [(due: ContinuousClock.Instant, bytes: [UInt8])] = []
    private var timer: TimerID?

    init(delay: Duration, loop: EventLoop, transport: Transport) {
        self.delay = delay
        self.loop = loop
        self.transport = transport
    }

    /// Bytes of the same millisecond are kept together.
    func write(_ bytes: UnsafeRawBufferPointer) {
        let due = ContinuousClock.now + delay
        if let last = pieces.last, due - last.due < .milliseconds(1) {
            pieces[pieces.count - 1].bytes.append(contentsOf: bytes)
        } else {
            pieces.append((due, Array(bytes)))
        }
        arm()
    }

    func cancel() {
        pieces = []
        if let timer { loop.cancel(timer) }
        timer = nil
    }

    private func arm() {
        guard timer == nil, let first = pieces.first else { return }
        timer = loop.schedule(at: first.due) { [weak self] in
            guard let self else { return }
            timer = nil
            let now = ContinuousClock.now
            let due = pieces.prefix { $0.due <= now }
            for piece in due { transport.write(piece.bytes) }
            pieces.removeFirst(due.count)
            arm()
        }
    }
}
