/// The requests under way on one connection, by slot: a small number that is used again, the last freed first.
struct ClientStreamTable {
    enum Use: Equatable {
        case free
        case open
        /// Its owner has been told the end; the slot waits until the stream itself is closed.
        case abandoned
    }

    struct Entry {
        var use = Use.free
        var stream: Int32 = 0
        var deadline = ContinuousClock.Instant.now
        /// Which byte of the connection is the request's first.
        var firstByte = 0
    }

    private var entries: [Entry] = []
    private var free: [Int] = []

    subscript(slot: Int) -> Entry { entries[slot] }

    var indices: Range<Int> { entries.indices }

    /// Takes a slot for a stream that is about to be submitted.
    mutating func reserve() -> Int {
        if let slot = free.popLast() { return slot }
        entries.append(Entry())
        return entries.count - 1
    }

    mutating func open(_ slot: Int, stream: Int32, firstByte: Int, deadline: ContinuousClock.Instant) {
        entries[slot].use = .open
        entries[slot].stream = stream
        entries[slot].firstByte = firstByte
        entries[slot].deadline = deadline
    }

    mutating func abandon(_ slot: Int) { entries[slot].use = .abandoned }

    mutating func close(_ slot: Int) {
        entries[slot].use = .free
        free.append(slot)
    }

    /// The open slots whose deadline has come, and the earliest deadline of the others.
    func expired(at now: ContinuousClock.Instant) -> (slots: [Int], next: ContinuousClock.Instant?) {
        var slots: [Int] = []
        var next: ContinuousClock.Instant?
        for (slot, entry) in entries.enumerated() where entry.use == .open {
            if entry.deadline <= now {
                slots.append(slot)
            } else {
                next = min(next ?? entry.deadline, entry.deadline)
            }
        }
        return (slots, next)
    }
}
