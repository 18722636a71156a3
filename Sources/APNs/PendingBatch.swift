internal import APNsProtocol
internal import EventLoop
internal import HTTP2

/// A batch inside the pool: what is still to be sent of it, and what became of the rest. Belongs to one loop.
final class PendingBatch {
    let batch: PushBatch
    let rank: PushRank
    /// When its caller handed it in: waiting counts from here.
    let handedIn: ContinuousClock.Instant
    let body: HTTP2Body
    /// The next recipient that has not been taken out of the queue.
    var next = 0
    /// Recipients without an outcome.
    private(set) var remaining: Int
    var deadlineTimer: TimerID?
    /// The header block of its requests, and the provider token that it carries.
    var template: HTTP2RequestTemplate?
    var templateGeneration = -1

    private var outcomes: [Outcome]
    private var continuation: CheckedContinuation<[Outcome], Never>?

    init(
        _ batch: PushBatch,
        handedIn: ContinuousClock.Instant = .now,
        continuation: CheckedContinuation<[Outcome], Never>?
    ) {
        self.batch = batch
        rank = PushRank(batch)
        self.handedIn = handedIn
        self.continuation = continuation
        body = HTTP2Body(batch.payload)
        remaining = batch.recipients.count
        outcomes = Array(repeating: .notProcessed, count: batch.recipients.count)
    }

    /// Gives recipient `index` its one outcome.
    ///
    /// - Returns: Whether it was the batch's last.
    func finish(_ index: Int, _ outcome: Outcome) -> Bool {
        precondition(remaining > 0, "a second outcome for push \(index)")
        outcomes[index] = outcome
        batch.witness?.ended(index, outcome)
        remaining -= 1
        return remaining == 0
    }

    /// Hands the outcomes to the caller.
    func complete() {
        precondition(remaining == 0, "\(remaining) pushes have no outcome")
        continuation?.resume(returning: outcomes)
        continuation = nil
    }
}
