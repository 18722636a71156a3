/// Names a timer of one loop.
package struct TimerID: Hashable, Sendable {
    fileprivate let number: UInt64
}

/// The timers of one loop: a binary heap by time, where a cancelled timer stays until it comes up or is swept out.
struct TimerQueue {
    private struct Entry {
        let instant: ContinuousClock.Instant
        let number: UInt64

        /// Timers of one instant fire in the order in which they were set.
        func isBefore(_ other: Entry) -> Bool { (instant, number) < (other.instant, other.number) }
    }

    private var heap: [Entry] = []
    private var bodies: [UInt64: () -> Void] = [:]
    private var lastNumber: UInt64 = 0

    mutating func insert(at instant: ContinuousClock.Instant, _ body: @escaping () -> Void) -> TimerID {
        lastNumber += 1
        bodies[lastNumber] = body
        heap.append(Entry(instant: instant, number: lastNumber))
        siftUp(heap.count - 1)
        return TimerID(number: lastNumber)
    }

    mutating func cancel(_ timer: TimerID) {
        guard bodies.removeValue(forKey: timer.number) != nil else { return }
        guard heap.count > 64, heap.count > 2 * bodies.count else { return }
        // Mostly deadlines that were met: without this, a busy connection's would pile up until they come up.
        heap.removeAll { bodies[$0.number] == nil }
        heap.sort { $0.isBefore($1) }
    }

    /// How long until the next timer; `nil` where there is none.
    mutating func timeToNext(now: ContinuousClock.Instant) -> Duration? {
        while let first = heap.first, bodies[first.number] == nil { removeFirst() }
        return heap.first.map { max(.zero, $0.instant - now) }
    }

    /// Takes out what is due at `now`, for the caller to run: a body may set timers of its own, for the next turn.
    mutating func takeDue(now: ContinuousClock.Instant) -> [() -> Void] {
        var due: [() -> Void] = []
        while let first = heap.first, first.instant <= now {
            removeFirst()
            if let body = bodies.removeValue(forKey: first.number) { due.append(body) }
        }
        return due
    }

    private mutating func removeFirst() {
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
        siftDown()
    }

    private mutating func siftUp(_ start: Int) {
        var child = start
        while child > 0 {
            let parent = (child - 1) / 2
            guard heap[child].isBefore(heap[parent]) else { return }
            heap.swapAt(child, parent)
            child = parent
        }
    }

    private mutating func siftDown() {
        var parent = 0
        while true {
            let left = 2 * parent + 1
            guard left < heap.count else { return }
            let right = left + 1
            let child = right < heap.count && heap[right].isBefore(heap[left]) ? right : left
            guard heap[child].isBefore(heap[parent]) else { return }
            heap.swapAt(child, parent)
            parent = child
        }
    }
}
