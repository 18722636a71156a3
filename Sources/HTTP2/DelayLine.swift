package import EventLoop

/// Holds bytes back for a time before they go on, in order: a stand-in for distance. Belongs to the loop's thread.
package final class DelayLine {
    package let delay: Duration
    private let loop: EventLoop
    private let output: (UnsafeRawBufferPointer) -> Void
    private var held = DelayedBytes()
    private var timer: TimerID?

    package init(delay: Duration, loop: EventLoop, output: @escaping (UnsafeRawBufferPointer) -> Void) {
        self.delay = delay
        self.loop = loop
        self.output = output
    }

    package func write(_ bytes: UnsafeRawBufferPointer) {
        held.append(bytes, due: .now + delay)
        arm()
    }

    package func cancel() {
        held = DelayedBytes()
        if let timer { loop.cancel(timer) }
        timer = nil
    }

    private func arm() {
        guard timer == nil, let next = held.nextDue else { return }
        timer = loop.schedule(at: next) { [weak self] in
            guard let self else { return }
            timer = nil
            held.takeDue(at: .now, output)
            arm()
        }
    }
}

/// Bytes and when each may go on. A plain value; time is passed in.
///
/// Those that are due within the same millisecond go together at its end: a busy line costs a timer a millisecond, and
/// nothing is early.
struct DelayedBytes {
    static let step = Duration.milliseconds(1)

    private struct Piece {
        var due: ContinuousClock.Instant
        var bytes: [UInt8]
    }

    private var pieces: [Piece] = []
    private var first = 0
    /// Memory of pieces that are through.
    private var spare: [[UInt8]] = []

    var nextDue: ContinuousClock.Instant? { first < pieces.count ? pieces[first].due : nil }

    /// Adds bytes that are not due before those that came before.
    mutating func append(_ bytes: UnsafeRawBufferPointer, due: ContinuousClock.Instant) {
        if first < pieces.count, due <= pieces[pieces.count - 1].due {
            return pieces[pieces.count - 1].bytes.append(contentsOf: bytes)
        }
        var memory = spare.popLast() ?? []
        memory.append(contentsOf: bytes)
        pieces.append(Piece(due: due + Self.step, bytes: memory))
    }

    /// Hands on what may go, in the order in which it came.
    mutating func takeDue(at now: ContinuousClock.Instant, _ output: (UnsafeRawBufferPointer) -> Void) {
        while first < pieces.count, pieces[first].due <= now {
            var bytes = pieces[first].bytes
            pieces[first].bytes = []
            first += 1
            bytes.withUnsafeBytes(output)
            bytes.removeAll(keepingCapacity: true)
            if spare.count < 64 { spare.append(bytes) }
        }
        if first == pieces.count || first > 1024 {
            pieces.removeFirst(first)
            first = 0
        }
    }
}
