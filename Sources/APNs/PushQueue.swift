internal import HTTP2

/// One push on its way through the pool.
struct Push {
    let batch: PendingBatch
    let index: Int
    /// How often it was handed to a connection before.
    var attempts = 0
    /// It has been sent again for an expired provider token once already.
    var hasRetriedToken = false
    /// It has been sent again on a younger connection for its topic once already.
    var hasRetriedTopic = false
}

/// The pushes of a lane that wait for a stream, by rank; within a rank those that came back go first.
struct PushQueue {
    private struct Line {
        var returned = Fifo<Push>()
        var batches = Fifo<PendingBatch>()

        var nextBodyBytes: Int? { returned.first?.batch.body.count ?? batches.first?.body.count }
    }

    private var channel = Line()
    private var once = Line()
    private var urgent = Line()
    private var routine = Line()
    /// Pushes, not batches.
    private(set) var counts = PushRankCounts()

    var count: Int { counts.total }

    var isEmpty: Bool { counts.total == 0 }

    /// The first push's rank.
    var firstRank: PushRank? { PushRank.allCases.first { counts[$0] > 0 } }

    mutating func append(_ batch: PendingBatch) {
        counts[batch.rank] += batch.batch.recipients.count - batch.next
        withLine(batch.rank) { $0.batches.append(batch) }
    }

    /// Takes a push back that no peer has processed; it goes ahead of its rank.
    mutating func giveBack(_ push: Push) {
        counts[push.batch.rank] += 1
        withLine(push.batch.rank) { $0.returned.append(push) }
    }

    /// The size of the next push's body, to ask a connection whether it has room for it.
    func nextBodyBytes(_ rank: PushRank) -> Int? {
        switch rank {
        case .channel: channel.nextBodyBytes
        case .once: once.nextBodyBytes
        case .urgent: urgent.nextBodyBytes
        case .routine: routine.nextBodyBytes
        }
    }

    mutating func popFirst() -> Push? { firstRank.flatMap { popFirst($0) } }

    mutating func popFirst(_ rank: PushRank) -> Push? {
        guard counts[rank] > 0 else { return nil }
        counts[rank] -= 1
        return withLine(rank) { line in
            if let push = line.returned.popFirst() { return push }
            guard let batch = line.batches.first else { return nil }
            let index = batch.next
            batch.next = index + 1
            if batch.next == batch.batch.recipients.count { _ = line.batches.popFirst() }
            return Push(batch: batch, index: index)
        }
    }

    /// Takes out what still waits of `batch`: its deadline has come, or nobody wants it any more.
    ///
    /// - Returns: The recipients' numbers.
    mutating func withdraw(_ batch: PendingBatch) -> [Int] {
        let indices = withLine(batch.rank) { line in
            var indices = line.returned.removeAll { $0.batch === batch }.map(\.index)
            let rest = batch.next..<batch.batch.recipients.count
            if !rest.isEmpty {
                indices.append(contentsOf: rest)
                batch.next = batch.batch.recipients.count
                _ = line.batches.removeAll { $0 === batch }
            }
            return indices
        }
        counts[batch.rank] -= indices.count
        return indices
    }

    /// Takes out everything.
    mutating func withdrawAll() -> [Push] {
        var pushes: [Push] = []
        pushes.reserveCapacity(count)
        while let push = popFirst() { pushes.append(push) }
        return pushes
    }

    private mutating func withLine<Result>(_ rank: PushRank, _ body: (inout Line) -> Result) -> Result {
        switch rank {
        case .channel: body(&channel)
        case .once: body(&once)
        case .urgent: body(&urgent)
        case .routine: body(&routine)
        }
    }
}
