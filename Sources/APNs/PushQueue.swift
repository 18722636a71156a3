internal import HTTP2

/// One push on its way through the pool.
struct Push {
    let batch: PendingBatch
    let index: Int
    /// How often it was handed to a connection before.
    var attempts = 0
    /// It has been sent again for an expired provider token once already.
    var hasRetriedToken = false
}

/// The pushes of a lane that wait for a stream: those that come back first, then urgent batches, then routine ones.
struct PushQueue {
    private var returned = Fifo<Push>()
    private var urgent = Fifo<PendingBatch>()
    private var routine = Fifo<PendingBatch>()
    /// Pushes, not batches.
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    mutating func append(_ batch: PendingBatch) {
        count += batch.batch.recipients.count - batch.next
        if batch.isUrgent { urgent.append(batch) } else { routine.append(batch) }
    }

    /// Takes a push back that no peer has processed; it goes ahead of everything.
    mutating func giveBack(_ push: Push) {
        count += 1
        returned.append(push)
    }

    /// The size of the next push's body, to ask a connection whether it has room for it.
    var nextBodyBytes: Int? {
        if let push = returned.first { return push.batch.body.count }
        return (urgent.first ?? routine.first)?.body.count
    }

    mutating func popFirst() -> Push? {
        guard count > 0 else { return nil }
        count -= 1
        if let push = returned.popFirst() { return push }
        return urgent.isEmpty ? Self.take(from: &routine) : Self.take(from: &urgent)
    }

    private static func take(from batches: inout Fifo<PendingBatch>) -> Push? {
        guard let batch = batches.first else { return nil }
        let index = batch.next
        batch.next = index + 1
        if batch.next == batch.batch.recipients.count { _ = batches.popFirst() }
        return Push(batch: batch, index: index)
    }

    /// Takes out what still waits of `batch`: its deadline has come, or nobody wants it any more.
    ///
    /// - Returns: The recipients' numbers.
    mutating func withdraw(_ batch: PendingBatch) -> [Int] {
        var indices = returned.removeAll { $0.batch === batch }.map(\.index)
        let rest = batch.next..<batch.batch.recipients.count
        if !rest.isEmpty {
            indices.append(contentsOf: rest)
            batch.next = batch.batch.recipients.count
            _ = urgent.removeAll { $0 === batch }
            _ = routine.removeAll { $0 === batch }
        }
        count -= indices.count
        return indices
    }

    /// Takes out everything.
    mutating func withdrawAll() -> [Push] {
        var pushes: [Push] = []
        pushes.reserveCapacity(count)
        while let push = popFirst() { pushes.append(push) }
        return pushes
    }
}

/// First in, first out, without moving what is behind.
struct Fifo<Element> {
    private var elements: [Element?] = []
    private var start = 0

    var isEmpty: Bool { start == elements.count }

    var first: Element? { start < elements.count ? elements[start] : nil }

    mutating func append(_ element: Element) { elements.append(element) }

    mutating func popFirst() -> Element? {
        guard start < elements.count else { return nil }
        let element = elements[start]
        elements[start] = nil
        start += 1
        if start == elements.count {
            elements.removeAll(keepingCapacity: start <= 4096)
            start = 0
        } else if start >= 1024, start * 2 >= elements.count {
            elements.removeFirst(start)
            start = 0
        }
        return element
    }

    /// Takes out what meets `condition`, in order.
    mutating func removeAll(where condition: (Element) -> Bool) -> [Element] {
        let all = elements[start...].compactMap(\.self)
        elements = all.filter { !condition($0) }
        start = 0
        return all.filter(condition)
    }
}
